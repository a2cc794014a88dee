# coppice.  Plain "make" builds everything; the README names the rest.

SUBDIR=		lib tests share man etc

.include "share/mk/coppice.mk"
.include "share/mk/coppice.top.mk"
.include <bsd.subdir.mk>
