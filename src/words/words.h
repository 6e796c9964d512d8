/*
 * words/words.h: what tidemark says: values, sentences, causes and fixes, the answer in three
 * lines. The room for prose: what reports, warnings and JSON say in sentences is written here. No
 * I/O.
 */
#ifndef TIDEMARK_WORDS_H
#define TIDEMARK_WORDS_H

#include "words/account.h"
#include "words/attached.h"
#include "words/causes.h"
#include "words/copies.h"
#include "words/details.h"
#include "words/ending.h"
#include "words/evidence.h"
#include "words/finding.h"
#include "words/format.h"
#include "words/headline.h"
#include "words/news.h"
#include "words/notes.h"
#include "words/patterns.h"
#include "words/reasons.h"
#include "words/report_job.h"
#include "words/settings.h"
#include "words/sites.h"
#include "words/size.h"
#include "words/summary.h"
#include "words/tradeoff.h"

#endif
