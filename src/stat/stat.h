/* stat/stat.h: the streaming estimators; pure, bounded, without I/O. */
#ifndef TIDEMARK_STAT_H
#define TIDEMARK_STAT_H

#include "stat/fit.h"
#include "stat/history.h"
#include "stat/pyramid.h"
#include "stat/segment.h"
#include "stat/student.h"

#endif
