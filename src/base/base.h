/* base/base.h: what every room shares: text, units, JSON, lines, the vocabulary. */
#ifndef TIDEMARK_BASE_H
#define TIDEMARK_BASE_H

#include "base/buf.h"
#include "base/failure.h"
#include "base/fields.h"
#include "base/json.h"
#include "base/json_reader.h"
#include "base/lines.h"
#include "base/maps.h"
#include "base/quantity.h"
#include "base/series.h"
#include "base/units.h"
#include "base/utf8.h"

#endif
