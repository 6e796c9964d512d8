/* store/schema.c: the tables of a run file, schema 1. docs/STORE.md is their manual. */
#include "store/db.h"

const char db_schema[] =
    "CREATE TABLE run ("
    " tidemark TEXT NOT NULL, command TEXT, title TEXT, host TEXT, started REAL,"
    " limit_bytes REAL, limit_source TEXT,"
    " plan_steps REAL, plan_seconds REAL, horizon REAL, epoch_length REAL);"

    "CREATE TABLE process ("
    " id INTEGER PRIMARY KEY, pid INTEGER NOT NULL, start INTEGER NOT NULL, parent_pid INTEGER,"
    " role TEXT, rank INTEGER, command TEXT, why TEXT,"
    " first_seconds REAL, last_seconds REAL, exit_status INTEGER);"

    "CREATE TABLE series ("
    " id INTEGER PRIMARY KEY, process INTEGER REFERENCES process (id),"
    " kind TEXT NOT NULL, device TEXT, name TEXT, unit TEXT NOT NULL,"
    " capacity REAL, rule TEXT);"

    /* Time first: one second of all series is one page at the end, and the oldest rows go in one
     * piece. */
    "CREATE TABLE sample ("
    " seconds REAL NOT NULL, series INTEGER NOT NULL REFERENCES series (id), value REAL NOT NULL,"
    " PRIMARY KEY (seconds, series)) WITHOUT ROWID;"

    "CREATE TABLE block ("
    " width INTEGER NOT NULL, start INTEGER NOT NULL,"
    " series INTEGER NOT NULL REFERENCES series (id),"
    " seconds REAL NOT NULL, count INTEGER NOT NULL,"
    " floor REAL NOT NULL, mean REAL NOT NULL, max REAL NOT NULL,"
    " PRIMARY KEY (width, start, series)) WITHOUT ROWID;"

    "CREATE TABLE mark (id INTEGER PRIMARY KEY, seconds REAL NOT NULL, step REAL, epoch REAL);"

    "CREATE TABLE event ("
    " id INTEGER PRIMARY KEY, seconds REAL NOT NULL, what TEXT NOT NULL, text TEXT);"

    "CREATE TABLE look ("
    " process INTEGER NOT NULL REFERENCES process (id), seconds REAL NOT NULL,"
    " anon REAL, heap_used REAL, heap_free REAL, data REAL,"
    " arenas_used REAL, arenas_free REAL,"
    " PRIMARY KEY (process, seconds)) WITHOUT ROWID;"

    /* The last census that searched for holders, and a later one that did not. Each has its own
     * history. */
    "CREATE TABLE census ("
    " process INTEGER NOT NULL REFERENCES process (id), searched INTEGER NOT NULL,"
    " origin INTEGER NOT NULL, text TEXT NOT NULL,"
    " PRIMARY KEY (process, searched)) WITHOUT ROWID;"

    "CREATE TABLE sites ("
    " process INTEGER PRIMARY KEY REFERENCES process (id), text TEXT NOT NULL);"

    "CREATE TABLE answer (json TEXT NOT NULL, report TEXT);"

    "CREATE VIEW reading AS"
    " SELECT x.seconds, x.series, process.pid, process.role, process.rank,"
    "  series.kind, series.device, series.unit, x.value, x.floor, x.max, x.count"
    " FROM (SELECT seconds, series, mean AS value, floor, max, count FROM block"
    "  UNION ALL SELECT seconds, series, value, value, value, 1 FROM sample) AS x"
    " JOIN series ON series.id = x.series LEFT JOIN process ON process.id = series.process;";
