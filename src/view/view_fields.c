/* view/view_fields.c: the members of a view and of all it owns, listed once. */
#include "view/view.h"

#include <stdlib.h>

/* ---- findings ---- */

static const struct field_entry finding_list[] = {
    FIELD_PLAIN(watch_finding, what),
    FIELD_PLAIN(watch_finding, holder),
    FIELD_PLAIN(watch_finding, name),
    FIELD_PLAIN(watch_finding, kind),
    FIELD_PLAIN(watch_finding, gain),
    FIELD_PLAIN(watch_finding, where),
    FIELD_PLAIN(watch_finding, file),
    FIELD_PLAIN(watch_finding, cause),
    FIELD_PLAIN(watch_finding, fix),
    FIELD_PLAIN(watch_finding, advice),
    FIELD_PLAIN(watch_finding, sentence, .flags = FIELD_REQUIRED),
    FIELD_PLAIN(watch_finding, line),
    FIELD_PLAIN(watch_finding, count_per_step),
    FIELD_PLAIN(watch_finding, bytes_per_step),
    FIELD_PLAIN(watch_finding, host_bytes_per_step),
    FIELD_PLAIN(watch_finding, device_bytes_per_step),
    FIELD_PLAIN(watch_finding, count_per_second),
    FIELD_PLAIN(watch_finding, bytes_per_second),
    FIELD_PLAIN(watch_finding, share),
    FIELD_PLAIN(watch_finding, points),
    FIELD_PLAIN(watch_finding, bound),
    FIELD_PLAIN(watch_finding, full_step),
    FIELD_PLAIN(watch_finding, pid),
    FIELD_PLAIN(watch_finding, processes),
    FIELD_SEVERAL(watch_finding, evidence, evidence_count, .type = FIELD_TEXT),
    FIELD_SEVERAL(watch_finding, also, also_count, .type = FIELD_TEXT),
};
const struct field_table watch_finding_fields = FIELDS(watch_finding, finding_list);

static const struct field_entry tensors_list[] = {
    FIELD_PLAIN(watch_tensors, device, .flags = FIELD_REQUIRED),
    FIELD_PLAIN(watch_tensors, count),
    FIELD_PLAIN(watch_tensors, bytes),
};
static const struct field_table tensors_fields = FIELDS(watch_tensors, tensors_list);

static const struct field_entry purpose_list[] = {
    FIELD_PLAIN(watch_purpose, name, .flags = FIELD_REQUIRED),
    FIELD_PLAIN(watch_purpose, device, .flags = FIELD_REQUIRED),
    FIELD_PLAIN(watch_purpose, count),
    FIELD_PLAIN(watch_purpose, bytes),
};
static const struct field_table purpose_fields = FIELDS(watch_purpose, purpose_list);

static const struct field_entry census_list[] = {
    FIELD_PLAIN(watch_census, pid),
    FIELD_PLAIN(watch_census, process, .flags = FIELD_REQUIRED),
    FIELD_PLAIN(watch_census, objects),
    FIELD_PLAIN(watch_census, censuses),
    FIELD_PLAIN(watch_census, searches),
    FIELD_PLAIN(watch_census, pause_seconds),
    FIELD_PLAIN(watch_census, longest_pause_seconds),
    FIELD_PLAIN(watch_census, child_seconds),
    FIELD_PLAIN(watch_census, complete),
    FIELD_SEVERAL(watch_census, tensors, device_count, .type = FIELD_STRUCT, .of = &tensors_fields,
                  .flags = FIELD_EVEN_EMPTY),
    FIELD_SEVERAL(watch_census, purposes, purpose_count, .type = FIELD_STRUCT,
                  .of = &purpose_fields, .flags = FIELD_EVEN_EMPTY),
    FIELD_SEVERAL(watch_census, notes, note_count, .type = FIELD_TEXT),
};
const struct field_table watch_census_fields = FIELDS(watch_census, census_list);

static const struct field_entry entered_list[] = {
    FIELD_PLAIN(watch_entered, pid),
    FIELD_PLAIN(watch_entered, process, .flags = FIELD_REQUIRED),
    FIELD_PLAIN(watch_entered, command),
    FIELD_PLAIN(watch_entered, python),
    FIELD_PLAIN(watch_entered, why),
    FIELD_PLAIN(watch_entered, stops),
    FIELD_PLAIN(watch_entered, stopped_seconds),
    FIELD_PLAIN(watch_entered, longest_stop_seconds),
    FIELD_PLAIN(watch_entered, attached_seconds),
    FIELD_PLAIN(watch_entered, counted, FIELD_ONLY_IF(watch_entered, python)),
    FIELD_PLAIN(watch_entered, left),
    FIELD_PLAIN(watch_entered, ended),
};
const struct field_table watch_entered_fields = FIELDS(watch_entered, entered_list);

#define PROCESSES_MOST 4096

static const struct field_entry found_list[] = {
    FIELD_OWNED(watch_found, entered, entered_count, watch_entered_fields, .most = PROCESSES_MOST),
    FIELD_OWNED(watch_found, findings, count, watch_finding_fields, .most = FINDINGS_MOST,
                .flags = FIELD_EVEN_EMPTY),
    FIELD_PLAIN(watch_found, so_far, .shown = "growing_so_far", FIELD_ONLY_IF(watch_found, count)),
    FIELD_OWNED(watch_found, caches, cache_count, watch_finding_fields, .most = FINDINGS_MOST),
    FIELD_SEVERAL(watch_found, undecided, undecided_count, .type = FIELD_TEXT),
    FIELD_OWNED(watch_found, censuses, census_count, watch_census_fields, .most = PROCESSES_MOST),
};
const struct field_table watch_found_fields = FIELDS(watch_found, found_list);

void watch_found_release(struct watch_found *f)
{
    fields_release(&watch_found_fields, f);
}

/* ---- series ---- */

/* There are up to HISTORY_BLOCKS of them a series. */
static const struct field_entry block_list[] = {
    FIELD_PLAIN(history_block, count),   FIELD_PLAIN(history_block, at),
    FIELD_PLAIN(history_block, seconds), FIELD_PLAIN(history_block, min),
    FIELD_PLAIN(history_block, mean),    FIELD_PLAIN(history_block, peak),
    FIELD_PLAIN(history_block, max),     FIELD_PLAIN(history_block, activity),
};
static const struct field_table block_fields = {
    .list = block_list,
    .count = sizeof(block_list) / sizeof(block_list[0]),
    .size = sizeof(struct history_block),
    .as_rows = true,
};

static const struct field_entry history_list[] = {
    FIELD_OWNED(history, blocks, count, block_fields, .most = HISTORY_BLOCKS),
    FIELD_PLAIN(history, width),
    FIELD_AS(history, capacity, .type = FIELD_NOT_KEPT),
};
static const struct field_table history_fields = FIELDS(history, history_list);

static const char *part_word(unsigned part)
{
    static const char *const words[] = {
        [PART_MAIN] = "main", [PART_BYSTANDER] = "bystander", [PART_TOTAL] = "total"};
    return part <= PART_TOTAL ? words[part] : NULL;
}

static const struct field_entry series_list[] = {
    FIELD_PLAIN(watch_series, id),
    FIELD_INSIDE(watch_series, info, series_info_fields),
    FIELD_AS(watch_series, part, .type = FIELD_WORD, .word = part_word),
    FIELD_INSIDE(watch_series, answer, answer_fields),
    FIELD_INSIDE(watch_series, history, history_fields),
};
static const struct field_table series_fields = FIELDS(watch_series, series_list);

/* ---- phases, patterns, the balance sheet ---- */

static const struct field_entry phase_series_list[] = {
    FIELD_PLAIN(watch_phase_series, series),     FIELD_PLAIN(watch_phase_series, height),
    FIELD_PLAIN(watch_phase_series, kept),       FIELD_PLAIN(watch_phase_series, looked_at),
    FIELD_PLAIN(watch_phase_series, given_back),
};
static const struct field_table phase_series_fields = FIELDS(watch_phase_series, phase_series_list);

static const struct field_entry phase_list[] = {
    FIELD_PLAIN(watch_phase, name, .flags = FIELD_REQUIRED),
    FIELD_PLAIN(watch_phase, times),
    FIELD_PLAIN(watch_phase, ended),
    FIELD_PLAIN(watch_phase, seconds),
    FIELD_OWNED(watch_phase, series, count, phase_series_fields),
};
static const struct field_table phase_fields = FIELDS(watch_phase, phase_list);

static const struct field_entry pattern_list[] = {
    FIELD_AS(watch_pattern, pattern, .type = FIELD_WORD, .word = pattern_word),
    FIELD_PLAIN(watch_pattern, text, .flags = FIELD_REQUIRED),
};
const struct field_table watch_pattern_fields = FIELDS(watch_pattern, pattern_list);

static const char *role_word(unsigned role)
{
    return role <= ROLE_HELPER ? proc_role_name((enum proc_role) role) : NULL;
}

static const struct field_entry row_list[] = {
    FIELD_PLAIN(watch_row, label, .flags = FIELD_REQUIRED),
    FIELD_AS(watch_row, role, .type = FIELD_WORD, .word = role_word),
    FIELD_PLAIN(watch_row, pid),
    FIELD_PLAIN(watch_row, processes),
    FIELD_PLAIN(watch_row, pss_first),
    FIELD_PLAIN(watch_row, pss),
    FIELD_PLAIN(watch_row, anon),
    FIELD_PLAIN(watch_row, file),
    FIELD_PLAIN(watch_row, shmem),
    FIELD_PLAIN(watch_row, swap),
    FIELD_PLAIN(watch_row, rss),
    FIELD_PLAIN(watch_row, gpu),
    FIELD_PLAIN(watch_row, grows),
};
static const struct field_table row_fields = FIELDS(watch_row, row_list);

/* ---- the view ---- */

static const struct field_entry view_list[] = {
    FIELD_OWNED(watch_view, series, count, series_fields),
    FIELD_INSIDE(watch_view, answer, job_answer_fields),
    FIELD_PLAIN(watch_view, command),
    FIELD_PLAIN(watch_view, arguments),
    FIELD_PLAIN(watch_view, started),
    FIELD_PLAIN(watch_view, seconds),
    FIELD_PLAIN(watch_view, steps),
    FIELD_PLAIN(watch_view, step),
    FIELD_PLAIN(watch_view, epochs),
    FIELD_PLAIN(watch_view, steps_from),
    FIELD_PLAIN(watch_view, processes),
    FIELD_PLAIN(watch_view, most_processes),
    FIELD_PLAIN(watch_view, processes_seen),
    FIELD_PLAIN(watch_view, limit),
    FIELD_PLAIN(watch_view, limit_source),
    FIELD_OWNED(watch_view, phases, phase_count, phase_fields),
    FIELD_INSIDE(watch_view, found, watch_found_fields),
    FIELD_OWNED(watch_view, rows, row_count, row_fields),
    FIELD_INSIDE(watch_view, total, row_fields),
    FIELD_PLAIN(watch_view, system_first),
    FIELD_PLAIN(watch_view, system_last),
    FIELD_PLAIN(watch_view, system_total),
    FIELD_PLAIN(watch_view, shm_first),
    FIELD_PLAIN(watch_view, shm_last),
    FIELD_PLAIN(watch_view, unexplained),
    FIELD_PLAIN(watch_view, watcher_cpu_seconds),
    FIELD_PLAIN(watch_view, watcher_bytes),
    FIELD_PLAIN(watch_view, stall_seconds),
    FIELD_PLAIN(watch_view, ended),
    FIELD_PLAIN(watch_view, status),
    FIELD_PLAIN(watch_view, ending),
    FIELD_PLAIN(watch_view, unread),
    FIELD_SEVERAL(watch_view, notes, note_count, .type = FIELD_TEXT),
    FIELD_SEVERAL(watch_view, patterns, pattern_count, .type = FIELD_STRUCT,
                  .of = &watch_pattern_fields),
};
const struct field_table watch_view_fields = FIELDS(watch_view, view_list);

void watch_view_release(struct watch_view *v)
{
    fields_release(&watch_view_fields, v);
}
