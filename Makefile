# coppice.  Plain "make" builds everything; the README names the rest.

SUBDIR=		lib guest sbin tests share man etc rc.d

.include "share/mk/coppice.mk"
.include "share/mk/coppice.top.mk"
.include <bsd.subdir.mk>
