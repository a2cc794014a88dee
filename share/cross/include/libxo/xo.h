/* For cross checks only: FreeBSD's own has the same declarations. */
#include "../../../../lib/libcompat/include/libxo/xo.h"
