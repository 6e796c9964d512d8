/* words/account.h: how a judgement comes about, as sentences: the ledger's parts and its rule. */
#ifndef TIDEMARK_WORDS_ACCOUNT_H
#define TIDEMARK_WORDS_ACCOUNT_H

#include "base/base.h"
#include "ledger/ledger.h"
#include "sites/sites.h"
#include "wire/wire.h"

/* "no leak": as people read it. */
void account_add_verdict(struct buf *out, enum verdict verdict);

/* "lasting growth". */
const char *account_engine(enum engine_says engine);

/* "12.0 MB to 15.2 MB", "12.0 MB or more". */
void account_add_interval(struct buf *out, struct interval x);

/* What a part is. `growing`: of a holder, what the census says; else NULL. `site`: of a site; else
 * NULL. `rest`: of the rest. */
void account_add_part(struct buf *out, const struct ledger_part *p,
                      const struct wire_census_growing *growing, const struct site *site,
                      enum ledger_rest rest);

/* The verdict, the rule it follows from, and the two amounts that the rule compared. */
void account_add_rule(struct buf *out, const struct ledger_judgement *j);

/* What would settle it, of a judgement that is open; nothing where that is not known. `widest`: the
 * name of the part with the widest interval; NULL: there is none. */
void account_add_needs(struct buf *out, const struct ledger_judgement *j, bool is_censused,
                       const char *widest);

/* Why the report's verdict is not the ledger's. */
const char *account_difference(bool is_by_heap);

#endif
