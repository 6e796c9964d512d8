/* document.ts: the document of docs/PAGE.md as types. Every member that may be absent is optional:
 * absent means not known. */

export type Verdict = "leak" | "no_leak" | "inconclusive";

export interface Phase {
    from: number;
    to: number;
    name: string;
    rate?: number;
    rate_low?: number;
    rate_high?: number;
    level_from?: number;
    level_to?: number;
}

export interface Forecast {
    reaches_limit?: boolean;
    limit_step?: number;
    limit_seconds?: number;
    low?: number;
    high?: number;
}

export interface Process {
    pid?: number;
    start?: string;
    role?: string;
    rank?: number;
    command?: string;
}

export interface Series {
    process?: Process;
    name?: string;
    kind: string;
    device?: string;
    unit?: string;
    clock?: string;
    verdict: Verdict;
    severity?: string;
    pattern?: string;
    suspect?: boolean;
    suspect_step?: number;
    suspect_seconds?: number;
    alarm_step?: number;
    alarm_seconds?: number;
    onset_step?: number;
    onset_seconds?: number;
    warm_up_end_step?: number;
    warm_up_end_seconds?: number;
    rate?: number;
    rate_low?: number;
    rate_high?: number;
    rate_per_second?: number;
    floor_first?: number;
    floor_last?: number;
    min?: number;
    max?: number;
    limit?: number;
    samples?: number;
    first_step?: number;
    last_step?: number;
    first_seconds?: number;
    last_seconds?: number;
    phases?: Phase[];
    forecast?: Forecast;
    needs?: { steps?: number; seconds?: number; why?: string };
    spikes?: {
        count?: number;
        height?: number;
        recovered?: boolean;
        during?: { name: string; count: number }[];
    };
    why?: string[];
}

export interface Finding {
    what?: string;
    name?: string;
    gain?: string;
    fix?: string;
    holder?: string;
    kind?: string;
    where?: string;
    file?: string;
    line?: number;
    cause?: string;
    advice?: string;
    allocated?: string;
    sentence?: string;
    share?: number;
    points?: number;
    pid?: number;
    processes?: number;
    evidence?: string[];
    also?: string[];
    bytes_per_step?: number;
    bytes_per_second?: number;
    bound?: number;
    full_step?: number;
}

export interface Site {
    pid?: number;
    process?: string;
    what?: string;
    sentence?: string;
    function?: string;
    file?: string;
    line?: number;
    kind?: string;
    habit?: string;
    verdict?: Verdict;
    has_stopped?: boolean;
    bytes?: number;
    bytes_low?: number;
    bytes_high?: number;
    share_low?: number;
    share_high?: number;
    samples?: number;
    stack?: string[];
    bytes_per_step?: number;
}

export interface BalanceRow {
    role?: string;
    pid?: number;
    processes?: number;
    kind?: string;
    first?: number;
    last?: number;
    anon?: number;
    file?: number;
    shmem?: number;
    swap?: number;
    gpu?: number;
    rss?: number;
}

export interface Group {
    name?: string;
    device?: string;
    count?: number;
    bytes?: number;
}

export interface Census {
    pid?: number;
    process?: string;
    objects?: number;
    complete?: boolean;
    tensors?: Group[];
    purposes?: Group[];
    censuses?: number;
    searches?: number;
    pause_seconds?: number;
    longest_pause_seconds?: number;
    child_seconds?: number;
    notes?: string[];
}

export interface Tracer {
    pid?: number;
    process?: string;
    from?: number;
    to?: number;
    interval?: number;
    samples?: number;
    dropped?: number;
    not_seen?: number;
    spent_seconds?: number;
}

export interface Job {
    command?: string[];
    started?: number;
    steps?: number;
    steps_from?: string;
    last_step?: number;
    epochs?: number;
    seconds?: number;
    limit_bytes?: number;
    limit_source?: string;
    processes?: number;
    processes_seen?: number;
    exit_status?: number;
    exit_signal?: number;
    ending?: string;
    overhead?: {
        watcher_cpu_seconds?: number;
        watcher_bytes?: number;
        target_stall_seconds?: number;
    };
}

export interface Answer {
    tidemark?: string;
    verdict?: Verdict;
    severity?: string;
    summary?: string;
    job?: Job;
    series?: Series[];
    findings?: Finding[];
    growing_so_far?: boolean;
    caches?: Finding[];
    sites?: Site[];
    tracers?: Tracer[];
    undecided?: string[];
    censuses?: Census[];
    patterns?: { pattern?: string; text?: string }[];
    phases?: { name?: string; times?: number; ended?: number; seconds?: number }[];
    balance?: BalanceRow[];
    unexplained_bytes?: number;
    notes?: string[];
    system?: {
        total?: number;
        used_first?: number;
        used_last?: number;
        shm_first?: number;
        shm_last?: number;
    };
}

export interface Interval {
    low?: number;
    high?: number;
}
export interface Part {
    what?: string;
    fate?: string;
    bytes?: Interval;
    to_come?: Interval;
}
export interface Why {
    series?: string;
    verdict?: Verdict;
    ledger?: {
        verdict?: Verdict;
        growth?: number;
        horizons?: number;
        from?: number;
        to?: number;
        endless?: Interval;
        parts?: Part[];
    };
}

export interface Level {
    scale: number;
    t: number[];
    low: number[];
    high: number[];
}

export interface Curve {
    id: number;
    name?: string;
    kind?: string;
    device?: string;
    unit?: string;
    pid?: number;
    role?: string;
    samples?: number;
    first?: number;
    last?: number;
    levels: Level[];
}

export interface Floor {
    at?: number[];
    seconds: number[];
    value: number[];
}
export interface Spike {
    at?: number;
    seconds: number;
    value: number;
    during?: string;
}
export interface Chart {
    id?: number;
    floor?: Floor;
    spikes?: Spike[];
}
export interface Texts {
    headline?: string;
    rate?: string;
    since?: string;
    floor?: string;
    limit?: string;
    plan?: string;
    needs?: string;
    alarm?: string;
    spikes?: string;
    span?: string;
}
export interface Opening {
    verdict?: string;
    why?: string;
    next?: string;
    next_label?: string;
}
export interface Tree {
    seconds: number[];
    kind?: string;
    total?: number[];
    rows?: { label: string; role?: string; pid?: number; processes?: number; bytes: number[] }[];
    kinds?: { label: string; bytes: number[] }[];
}
export interface TensorGroup {
    device?: string;
    dtype?: string;
    shape?: string | number[];
    count?: number;
    bytes?: number;
    requires_grad?: boolean;
    grad_fn?: string | boolean;
}
export interface Objects {
    processes?: {
        pid?: number;
        process?: string;
        objects?: number;
        types?: { name?: string; count?: number; bytes?: number }[];
        tensors?: TensorGroup[];
        purposes?: Group[];
        devices?: Group[];
        heap_in_use?: number;
        heap_free?: number;
    }[];
}
export interface Flame {
    process?: string;
    pid?: number;
    growth?: string;
    live?: string;
}

export interface Run {
    page: "run";
    timed?: boolean;
    more_series?: number;
    format?: number;
    name?: string;
    title?: string;
    host?: string;
    live?: boolean;
    finished?: boolean;
    opening?: Opening;
    answer?: Answer;
    whys?: Why[];
    deciding?: number;
    texts?: Texts[];
    charts?: Chart[];
    curves?: Curve[];
    steps?: { seconds: number[]; step: number[] };
    events?: { seconds?: number; what?: string; text?: string }[];
    processes?: {
        pid?: number;
        role?: string;
        rank?: number;
        command?: string;
        first?: number;
        last?: number;
        status?: number;
    }[];
    more_processes?: number;
    tree?: Tree;
    objects?: Objects;
    flame?: Flame[];
}

export interface ComparisonChart extends Chart {
    range?: { seconds: number[]; at?: number[]; low: number[]; high: number[] };
}

export interface Comparison {
    page: "comparison";
    timed?: boolean;
    opening?: (Opening | null)[];
    names?: string[];
    charts?: ComparisonChart[];
    texts?: Texts[];
    comparison?: {
        summary?: string;
        differences?: string[];
        same_leaks?: boolean;
        same_pattern?: boolean;
        a?: Series;
        b?: Series;
        jobs?: { a?: JobSum; b?: JobSum };
        leaking?: {
            in?: string;
            name?: string;
            kind?: string;
            device?: string;
            unit?: string;
            clock?: string;
            role?: string;
            rate_a?: number;
            rate_b?: number;
        }[];
        causes?: { in?: string; a?: Finding; b?: Finding }[];
    };
}
export interface JobSum {
    verdict?: Verdict;
    severity?: string;
    series?: number;
    leaking?: number;
}

export interface Runs {
    page: "runs";
    title?: string;
    note?: string;
    runs?: {
        href?: string;
        name?: string;
        verdict?: Verdict;
        severity?: string;
        summary?: string;
        seconds?: number;
        started?: number;
        live?: boolean;
        command?: string;
        error?: string;
    }[];
}

export type Document = Run | Comparison | Runs;

/* "64.6 KB/step (64.5 to 64.6 KB)" without what is in parentheses. */
export function withoutInterval(rate: string): string {
    return rate.replace(/ \([^()]*\)$/, "");
}

/* What the document says of a series, in its own order. */
export function seriesOf(run: Run): Series[] {
    return run.answer?.series ?? [];
}

export function nameOf(series: Series): string {
    return (
        series.name ??
        [series.process?.role, series.process?.pid, series.kind, series.device]
            .filter((x) => x !== undefined)
            .join(" ")
    );
}
