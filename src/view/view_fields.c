/* view/view_fields.c: the members of a view and of all it owns, listed once. */
#include "view/view.h"

#include <stdlib.h>

/* ---- findings ---- */

static const struct field_entry finding_list[] = {
    FIELD_PLAIN(finding, what),
    FIELD_PLAIN(finding, holder),
    FIELD_PLAIN(finding, name),
    FIELD_PLAIN(finding, kind),
    FIELD_PLAIN(finding, gain),
    FIELD_PLAIN(finding, where),
    FIELD_PLAIN(finding, file),
    FIELD_PLAIN(finding, cause),
    FIELD_PLAIN(finding, fix),
    FIELD_PLAIN(finding, advice),
    FIELD_PLAIN(finding, allocated),
    FIELD_PLAIN(finding, sentence, .flags = FIELD_REQUIRED),
    FIELD_PLAIN(finding, line),
    FIELD_PLAIN(finding, count_per_step),
    FIELD_PLAIN(finding, bytes_per_step),
    FIELD_PLAIN(finding, host_bytes_per_step),
    FIELD_PLAIN(finding, device_bytes_per_step),
    FIELD_PLAIN(finding, count_per_second),
    FIELD_PLAIN(finding, bytes_per_second),
    FIELD_PLAIN(finding, share),
    FIELD_PLAIN(finding, points),
    FIELD_PLAIN(finding, bound),
    FIELD_PLAIN(finding, full_step),
    FIELD_PLAIN(finding, pid),
    FIELD_PLAIN(finding, processes),
    FIELD_SEVERAL(finding, evidence, evidence_count, .type = FIELD_TEXT),
    FIELD_SEVERAL(finding, also, also_count, .type = FIELD_TEXT),
};
const struct field_table finding_fields = FIELDS(finding, finding_list);

static const struct field_entry tensors_list[] = {
    FIELD_PLAIN(census_tensors, device, .flags = FIELD_REQUIRED),
    FIELD_PLAIN(census_tensors, count),
    FIELD_PLAIN(census_tensors, bytes),
};
static const struct field_table tensors_fields = FIELDS(census_tensors, tensors_list);

static const struct field_entry purpose_list[] = {
    FIELD_PLAIN(census_purpose, name, .flags = FIELD_REQUIRED),
    FIELD_PLAIN(census_purpose, device, .flags = FIELD_REQUIRED),
    FIELD_PLAIN(census_purpose, count),
    FIELD_PLAIN(census_purpose, bytes),
};
static const struct field_table purpose_fields = FIELDS(census_purpose, purpose_list);

static const struct field_entry census_list[] = {
    FIELD_PLAIN(census_view, pid),
    FIELD_PLAIN(census_view, process, .flags = FIELD_REQUIRED),
    FIELD_PLAIN(census_view, objects),
    FIELD_PLAIN(census_view, censuses),
    FIELD_PLAIN(census_view, searches),
    FIELD_PLAIN(census_view, pause_seconds),
    FIELD_PLAIN(census_view, longest_pause_seconds),
    FIELD_PLAIN(census_view, child_seconds),
    FIELD_PLAIN(census_view, complete),
    FIELD_SEVERAL(census_view, tensors, device_count, .type = FIELD_STRUCT, .of = &tensors_fields,
                  .flags = FIELD_EVEN_EMPTY),
    FIELD_SEVERAL(census_view, purposes, purpose_count, .type = FIELD_STRUCT, .of = &purpose_fields,
                  .flags = FIELD_EVEN_EMPTY),
    FIELD_SEVERAL(census_view, notes, note_count, .type = FIELD_TEXT),
};
const struct field_table census_view_fields = FIELDS(census_view, census_list);

static const struct field_entry entered_list[] = {
    FIELD_PLAIN(attached_process, pid),
    FIELD_PLAIN(attached_process, process, .flags = FIELD_REQUIRED),
    FIELD_PLAIN(attached_process, command),
    FIELD_PLAIN(attached_process, python),
    FIELD_PLAIN(attached_process, why),
    FIELD_PLAIN(attached_process, stops),
    FIELD_PLAIN(attached_process, stopped_seconds),
    FIELD_PLAIN(attached_process, longest_stop_seconds),
    FIELD_PLAIN(attached_process, attached_seconds),
    FIELD_PLAIN(attached_process, counted, FIELD_ONLY_IF(attached_process, python)),
    FIELD_PLAIN(attached_process, left),
    FIELD_PLAIN(attached_process, ended),
};
const struct field_table attached_process_fields = FIELDS(attached_process, entered_list);

/* ---- allocation sites ---- */

static const char *site_kind_word(unsigned kind)
{
    return kind < SITE_KINDS ? site_kind_name((enum site_kind) kind) : NULL;
}

static const char *site_habit_word(unsigned habit)
{
    return habit < SITE_HABITS ? site_habit_name((enum site_habit) habit) : NULL;
}

static const char *verdict_word(unsigned verdict)
{
    return verdict <= VERDICT_LEAK ? verdict_name((enum verdict) verdict) : NULL;
}

static const struct field_entry site_list[] = {
    FIELD_PLAIN(site_view, pid),
    FIELD_PLAIN(site_view, process, .flags = FIELD_REQUIRED),
    FIELD_PLAIN(site_view, sentence, .flags = FIELD_REQUIRED),
    FIELD_PLAIN(site_view, what, .flags = FIELD_REQUIRED),
    FIELD_PLAIN(site_view, function),
    FIELD_PLAIN(site_view, file),
    FIELD_PLAIN(site_view, line),
    FIELD_AS(site_view, kind, .type = FIELD_WORD, .word = site_kind_word),
    FIELD_AS(site_view, habit, .type = FIELD_WORD, .word = site_habit_word),
    FIELD_AS(site_view, verdict, .type = FIELD_WORD, .word = verdict_word),
    FIELD_PLAIN(site_view, has_stopped),
    FIELD_PLAIN(site_view, bytes),
    FIELD_PLAIN(site_view, bytes_low),
    FIELD_PLAIN(site_view, bytes_high),
    FIELD_PLAIN(site_view, bytes_per_step),
    FIELD_PLAIN(site_view, bytes_per_second),
    FIELD_PLAIN(site_view, share_low),
    FIELD_PLAIN(site_view, share_high),
    FIELD_PLAIN(site_view, samples),
    FIELD_PLAIN(site_view, from),
    FIELD_PLAIN(site_view, to),
    FIELD_SEVERAL(site_view, stack, stack_count, .type = FIELD_TEXT),
};
static const struct field_table site_view_fields = FIELDS(site_view, site_list);

static const struct field_entry tracer_list[] = {
    FIELD_PLAIN(tracer_view, pid),
    FIELD_PLAIN(tracer_view, process, .flags = FIELD_REQUIRED),
    FIELD_PLAIN(tracer_view, from),
    FIELD_PLAIN(tracer_view, to),
    FIELD_PLAIN(tracer_view, interval),
    FIELD_PLAIN(tracer_view, samples),
    FIELD_PLAIN(tracer_view, dropped),
    FIELD_PLAIN(tracer_view, not_seen),
    FIELD_PLAIN(tracer_view, spent_seconds),
    FIELD_PLAIN(tracer_view, has_native),
    FIELD_PLAIN(tracer_view, has_python),
    FIELD_PLAIN(tracer_view, blocks_from),
    FIELD_PLAIN(tracer_view, blocks_to),
    FIELD_PLAIN(tracer_view, blocks_seconds),
};
static const struct field_table tracer_view_fields = FIELDS(tracer_view, tracer_list);

#define PROCESSES_MOST 4096

static const struct field_entry found_list[] = {
    FIELD_OWNED(findings, entered, entered_count, attached_process_fields, .most = PROCESSES_MOST),
    FIELD_OWNED(findings, findings, count, finding_fields, .most = FINDINGS_MOST,
                .flags = FIELD_EVEN_EMPTY),
    FIELD_PLAIN(findings, so_far, .shown = "growing_so_far", FIELD_ONLY_IF(findings, count)),
    FIELD_OWNED(findings, caches, cache_count, finding_fields, .most = FINDINGS_MOST),
    FIELD_OWNED(findings, sites, site_count, site_view_fields, .most = SITE_VIEWS_MOST),
    FIELD_OWNED(findings, tracers, tracer_count, tracer_view_fields, .most = PROCESSES_MOST),
    FIELD_SEVERAL(findings, undecided, undecided_count, .type = FIELD_TEXT),
    FIELD_OWNED(findings, censuses, census_count, census_view_fields, .most = PROCESSES_MOST),
};
const struct field_table findings_fields = FIELDS(findings, found_list);

/* ---- series ---- */

/* Up to HISTORY_BLOCKS per series. */
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

static const struct field_entry group_list[] = {
    FIELD_PLAIN(series_group, processes),
    FIELD_PLAIN(series_group, low),
    FIELD_PLAIN(series_group, high),
};
static const struct field_table group_fields = FIELDS(series_group, group_list);

static const struct field_entry series_list[] = {
    FIELD_PLAIN(view_series, id),
    FIELD_INSIDE(view_series, info, series_info_fields),
    FIELD_AS(view_series, part, .type = FIELD_WORD, .word = part_word),
    FIELD_INSIDE(view_series, answer, answer_fields),
    FIELD_INSIDE(view_series, history, history_fields),
    FIELD_INSIDE(view_series, group, group_fields),
};
static const struct field_table series_fields = FIELDS(view_series, series_list);

/* ---- phases, patterns, the balance sheet ---- */

static const struct field_entry phase_series_list[] = {
    FIELD_PLAIN(view_activity_series, series),     FIELD_PLAIN(view_activity_series, height),
    FIELD_PLAIN(view_activity_series, kept),       FIELD_PLAIN(view_activity_series, looked_at),
    FIELD_PLAIN(view_activity_series, given_back),
};
static const struct field_table phase_series_fields =
    FIELDS(view_activity_series, phase_series_list);

static const struct field_entry phase_list[] = {
    FIELD_PLAIN(view_activity, name, .flags = FIELD_REQUIRED),
    FIELD_PLAIN(view_activity, times),
    FIELD_PLAIN(view_activity, ended),
    FIELD_PLAIN(view_activity, seconds),
    FIELD_OWNED(view_activity, series, count, phase_series_fields),
};
static const struct field_table phase_fields = FIELDS(view_activity, phase_list);

static const struct field_entry pattern_list[] = {
    FIELD_AS(view_pattern, pattern, .type = FIELD_WORD, .word = pattern_word),
    FIELD_PLAIN(view_pattern, text, .flags = FIELD_REQUIRED),
};
const struct field_table view_pattern_fields = FIELDS(view_pattern, pattern_list);

static const char *role_word(unsigned role)
{
    return role <= ROLE_HELPER ? proc_role_name((enum proc_role) role) : NULL;
}

static const struct field_entry row_list[] = {
    FIELD_PLAIN(view_row, label, .flags = FIELD_REQUIRED),
    FIELD_AS(view_row, role, .type = FIELD_WORD, .word = role_word),
    FIELD_PLAIN(view_row, pid),
    FIELD_PLAIN(view_row, processes),
    FIELD_PLAIN(view_row, pss_first),
    FIELD_PLAIN(view_row, pss),
    FIELD_PLAIN(view_row, anon),
    FIELD_PLAIN(view_row, file),
    FIELD_PLAIN(view_row, shmem),
    FIELD_PLAIN(view_row, swap),
    FIELD_PLAIN(view_row, rss),
    FIELD_PLAIN(view_row, gpu),
    FIELD_PLAIN(view_row, grows),
};
static const struct field_table row_fields = FIELDS(view_row, row_list);

/* ---- the view ---- */

static const struct field_entry view_list[] = {
    FIELD_OWNED(view, series, count, series_fields),
    FIELD_INSIDE(view, answer, job_answer_fields),
    FIELD_PLAIN(view, command),
    FIELD_PLAIN(view, arguments),
    FIELD_PLAIN(view, started),
    FIELD_PLAIN(view, seconds),
    FIELD_PLAIN(view, steps),
    FIELD_PLAIN(view, step),
    FIELD_PLAIN(view, epochs),
    FIELD_PLAIN(view, steps_from),
    FIELD_PLAIN(view, processes),
    FIELD_PLAIN(view, most_processes),
    FIELD_PLAIN(view, processes_seen),
    FIELD_PLAIN(view, limit),
    FIELD_PLAIN(view, limit_source),
    FIELD_OWNED(view, phases, phase_count, phase_fields),
    FIELD_INSIDE(view, found, findings_fields),
    FIELD_OWNED(view, rows, row_count, row_fields),
    FIELD_INSIDE(view, total, row_fields),
    FIELD_PLAIN(view, system_first),
    FIELD_PLAIN(view, system_last),
    FIELD_PLAIN(view, system_total),
    FIELD_PLAIN(view, shm_first),
    FIELD_PLAIN(view, shm_last),
    FIELD_PLAIN(view, watcher_cpu_seconds),
    FIELD_PLAIN(view, watcher_bytes),
    FIELD_PLAIN(view, stall_seconds),
    FIELD_PLAIN(view, ended),
    FIELD_PLAIN(view, status),
    FIELD_PLAIN(view, ending),
    FIELD_PLAIN(view, unread),
    FIELD_SEVERAL(view, notes, note_count, .type = FIELD_TEXT),
    FIELD_PLAIN(view, warning_count),
    FIELD_SEVERAL(view, patterns, pattern_count, .type = FIELD_STRUCT, .of = &view_pattern_fields),
};
const struct field_table view_fields = FIELDS(view, view_list);

void view_release(struct view *v)
{
    fields_release(&view_fields, v);
}
