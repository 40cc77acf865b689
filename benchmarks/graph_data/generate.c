/* Execution graphs of one distributed job, of the shape that G2 was measured on.
 *
 * A job manager boots a daemon on every machine one after the other, starts the first of six stages of worker processes, starts
 * a worker of the next stage whenever one is done, and ends with a last round over the machines. Each worker runs a chain of
 * main regions, each of which sets off a cascade of small ones with a heavy-tailed size, in the same process but for a few.
 * Besides, 8 % of all work is cascades of the daemons' own, which nothing of the job leads to. A region is a stretch of events
 * that one message, task or callback causes: some seven events, now and then a thousand.
 * Invariants: regions are simulated in the order of time, so no effect precedes its cause; the same seed gives the same graph. */
#include <math.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

enum { SIDE, MAIN, DONE, BOOT, START, LAST };
enum { SAME_PROCESS, OTHER_PROCESS, NETWORK, JOIN };
enum { STORE, DAEMON, MANAGER, WORKER };
#define STAGES 6
#define CHAIN 10 /* main regions of a worker */
#define NONE UINT32_MAX
#define WAITING UINT32_MAX /* size of a region that has not run */

typedef struct {
    uint64_t events; /* wanted */
    uint32_t machines;
    uint64_t seed;
    double remote; /* share of messages to other machines */
    double local;  /* and to other processes of the machine */
    uint64_t region_room, edge_room, strand_room, process_room;
} Wanted;

typedef struct {
    uint64_t events, regions, edges, strands, processes;
} Made;

typedef struct { /* all given by the caller */
    uint32_t *strand, *offset, *size, *step;
    int64_t *time; /* ns; event i of a region is at time + i * step */
    uint32_t *src, *src_offset, *dst, *dst_offset;
    uint8_t *edge_kind;
    uint32_t *strand_process, *strand_events;
    uint32_t *process_machine, *process_kind;
} Tables;

typedef struct {
    uint8_t kind;
    uint32_t budget; /* of a side region: how many regions its cascade is still to have */
    uint32_t about;  /* the worker, or the step */
    uint32_t cascade;
} Task;

typedef struct {
    int64_t time;
    uint32_t region;
} Due;

typedef struct {
    const Wanted *wanted;
    Made *made;
    Tables t;
    Task *tasks;
    Due *heap;
    size_t due, heap_room;
    int64_t *clock;                        /* per strand */
    uint32_t *first_strand, *strand_count; /* per process */
    uint32_t *batch, *last_region;         /* per process: a region that takes more messages; the last one that ran */
    uint32_t workers, per_stage, manager, *worker_process, done[STAGES];
    uint32_t *by_machine, *machine_first; /* workers */
    double smallest_cascade;
    uint32_t last, boots, lasts, cascades;
    uint64_t random;
    bool full;
} Job;

static uint64_t random_bits(Job *j) {
    uint64_t z = j->random += 0x9E3779B97F4A7C15ull;
    z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9ull;
    z = (z ^ (z >> 27)) * 0x94D049BB133111EBull;
    return z ^ (z >> 31);
}
static double chance(Job *j) { return (double)(random_bits(j) >> 11) * 0x1p-53; }
static uint32_t below(Job *j, uint32_t n) { return (uint32_t)((unsigned __int128)random_bits(j) * n >> 64); }
static double exponential(Job *j, double mean) { return -mean * log(1.0 - chance(j)); }

static void push(Job *j, int64_t time, uint32_t region) {
    if (j->due == j->heap_room) {
        j->heap_room = j->heap_room ? 2 * j->heap_room : 4096;
        Due *heap = realloc(j->heap, j->heap_room * sizeof *heap);
        if (!heap) {
            j->full = true;
            return;
        }
        j->heap = heap;
    }
    size_t i = j->due++;
    for (; i && j->heap[(i - 1) / 2].time > time; i = (i - 1) / 2) j->heap[i] = j->heap[(i - 1) / 2];
    j->heap[i] = (Due){time, region};
}

static Due pop(Job *j) {
    Due top = j->heap[0], last = j->heap[--j->due];
    size_t i = 0;
    for (;;) {
        size_t child = 2 * i + 1;
        if (child >= j->due) break;
        child += child + 1 < j->due && j->heap[child + 1].time < j->heap[child].time;
        if (j->heap[child].time >= last.time) break;
        j->heap[i] = j->heap[child];
        i = child;
    }
    j->heap[i] = last;
    return top;
}

static uint32_t new_process(Job *j, uint32_t machine, uint32_t kind, uint32_t strands) {
    uint64_t process = j->made->processes;
    if (process >= j->wanted->process_room || j->made->strands + strands > j->wanted->strand_room) {
        j->full = true;
        return 0;
    }
    j->made->processes++;
    j->t.process_machine[process] = machine;
    j->t.process_kind[process] = kind;
    j->first_strand[process] = (uint32_t)j->made->strands;
    j->strand_count[process] = strands;
    j->batch[process] = j->last_region[process] = NONE;
    for (uint32_t i = 0; i < strands; i++) {
        j->t.strand_process[j->made->strands] = (uint32_t)process;
        j->t.strand_events[j->made->strands++] = 0;
    }
    return (uint32_t)process;
}

static uint32_t any_strand(Job *j, uint32_t process) { return j->first_strand[process] + below(j, j->strand_count[process]); }

static uint32_t new_region(Job *j, uint32_t strand, Task task) {
    uint64_t region = j->made->regions;
    if (region >= j->wanted->region_room) {
        j->full = true;
        return 0;
    }
    j->made->regions++;
    j->tasks[region] = task;
    j->t.strand[region] = strand;
    j->t.size[region] = WAITING;
    j->t.time[region] = 0;
    return (uint32_t)region;
}

/* Sizes of cascades have a Pareto distribution, cut off. */
#define SHAPE 1.3
static double largest_cascade(const Job *j) {
    double largest = (double)j->wanted->events / 7 / 20;
    return largest > 3e5 ? 3e5 : largest < 1 ? 1 : largest;
}

static uint32_t cascade_size(Job *j) {
    double size = j->smallest_cascade * pow(1.0 - chance(j), -1 / SHAPE), most = largest_cascade(j);
    return (uint32_t)(size > most ? most : size < 1 ? 1 : size);
}

static double smallest_for(const Job *j, double mean) {
    double smallest = 1, most = largest_cascade(j);
    for (int i = 0; i < 100; i++) {
        double gives = smallest / (SHAPE - 1) * (SHAPE - pow(smallest / most, SHAPE - 1));
        smallest *= gives > 0 && smallest < most ? mean / gives : 1;
    }
    return smallest < most ? smallest : most;
}

/* What a region sends while it runs. */
typedef struct {
    uint32_t region[4096];
    uint8_t kind[4096];
    uint32_t count;
} Sent;

static uint8_t kind_between(Job *j, uint32_t a, uint32_t b) {
    if (a == b) return SAME_PROCESS;
    return j->t.process_machine[a] == j->t.process_machine[b] ? OTHER_PROCESS : NETWORK;
}

static void send(Job *j, Sent *sent, uint32_t from, uint32_t region) {
    if (sent->count == 4096) return;
    sent->kind[sent->count] = kind_between(j, from, j->t.strand_process[j->t.strand[region]]);
    sent->region[sent->count++] = region;
}

/* Where a cascade goes on: mostly in its own process. */
static uint32_t next_process(Job *j, uint32_t process) {
    double where = chance(j);
    uint32_t machine = j->t.process_machine[process];
    if (where >= j->wanted->remote + j->wanted->local) return process;
    bool remote = where < j->wanted->remote;
    if (remote) machine = below(j, j->wanted->machines);
    uint32_t low = j->machine_first[machine], high = j->machine_first[machine + 1];
    bool worker = low < high && (remote ? !below(j, 4) : j->t.process_kind[process] != WORKER);
    if (worker) return j->by_machine[low + below(j, high - low)];
    return below(j, 3) ? machine : j->wanted->machines + machine;
}

static void run_side(Job *j, uint32_t region, uint32_t process, Sent *sent) {
    Task task = j->tasks[region];
    uint32_t left = task.budget ? task.budget - 1 : 0;
    double many = chance(j);
    uint32_t children = many < 0.72 ? 1 : many < 0.92 ? 2 : 3;
    if (children > left) children = left;
    for (uint32_t i = 0; i < children; i++) {
        uint32_t rest = children - 1 - i, share = rest ? 1 + below(j, left - rest) : left, to = next_process(j, process);
        left -= share;
        uint32_t batch = j->batch[to];
        bool open = batch != NONE && batch != region && j->t.size[batch] == WAITING && j->tasks[batch].cascade == task.cascade;
        if (open && chance(j) < 0.10 && j->tasks[batch].budget + share < 400000) {
            j->tasks[batch].budget += share;
            send(j, sent, process, batch);
            continue;
        }
        uint32_t made = new_region(j, any_strand(j, to), (Task){SIDE, share, task.about, task.cascade});
        send(j, sent, process, made);
        if (chance(j) < 0.15) j->batch[to] = made;
    }
    if (task.budget <= 1 && task.about != NONE && chance(j) < 0.004 && j->t.size[j->last] == WAITING)
        send(j, sent, process, j->last);
}

static void start_worker(Job *j, Sent *sent, uint32_t from, uint32_t worker) {
    uint32_t strand = j->first_strand[j->worker_process[worker]];
    send(j, sent, from, new_region(j, strand, (Task){MAIN, 0, worker * CHAIN, 0}));
}

/* The events that a region has beside what it sends. */
static uint32_t run_task(Job *j, uint32_t region, uint32_t process, Sent *sent) {
    Task task = j->tasks[region];
    uint32_t manager = j->first_strand[j->manager], machines = j->wanted->machines;
    switch (task.kind) {
    case SIDE:
        run_side(j, region, process, sent);
        return 0;
    case MAIN: {
        uint32_t worker = task.about / CHAIN;
        Task cascade = {SIDE, cascade_size(j), worker, ++j->cascades};
        send(j, sent, process, new_region(j, any_strand(j, process), cascade));
        if (task.about % CHAIN + 1 < CHAIN)
            send(j, sent, process, new_region(j, any_strand(j, process), (Task){MAIN, 0, task.about + 1, 0}));
        else send(j, sent, process, new_region(j, manager + 1, (Task){DONE, 0, worker, 0}));
        return 20;
    }
    case DONE: {
        uint32_t stage = task.about / j->per_stage, done = j->done[stage]++;
        if (stage + 1 < STAGES) start_worker(j, sent, process, (stage + 1) * j->per_stage + done);
        else send(j, sent, process, j->last);
        return 10;
    }
    case BOOT:
        if (j->boots < 2 * machines) {
            uint32_t to = j->boots & 1 ? j->manager : machines + j->boots / 2 % machines;
            j->boots++;
            send(j, sent, process, new_region(j, j->first_strand[to], (Task){BOOT, 0, NONE, 0}));
        } else send(j, sent, process, new_region(j, manager + 1, (Task){START, 0, NONE, 0}));
        return 30;
    case START:
        for (uint32_t worker = 0; worker < j->per_stage; worker++) start_worker(j, sent, process, worker);
        return j->per_stage;
    default:
        if (j->lasts < 2 * machines) {
            uint32_t to = j->lasts & 1 ? j->manager : j->lasts / 2 % machines;
            j->lasts++;
            send(j, sent, process, new_region(j, j->first_strand[to], (Task){LAST, 0, NONE, 0}));
            Task aside = {SIDE, 1 + below(j, 20), NONE, ++j->cascades};
            send(j, sent, process, new_region(j, any_strand(j, process), aside));
        }
        return 30;
    }
}

static void add_edge(Job *j, uint32_t src, uint32_t src_offset, uint32_t dst, uint32_t dst_offset, uint8_t kind) {
    uint64_t edge = j->made->edges;
    if (edge >= j->wanted->edge_room) {
        j->full = true;
        return;
    }
    j->made->edges++;
    j->t.src[edge] = src;
    j->t.src_offset[edge] = src_offset;
    j->t.dst[edge] = dst;
    j->t.dst_offset[edge] = dst_offset;
    j->t.edge_kind[edge] = kind;
}

static int64_t latency(Job *j, uint8_t kind) {
    double mean = kind == NETWORK ? 300e3 : kind == OTHER_PROCESS ? 40e3 : 10e3;
    return (int64_t)(mean / 2 + exponential(j, mean / 2)) + 1;
}

static void run_region(Job *j, uint32_t region, Sent *sent) {
    uint32_t strand = j->t.strand[region], process = j->t.strand_process[strand];
    uint32_t body = (uint32_t)exponential(j, 3.6);
    if (chance(j) < 0.0012) body += 500 + (uint32_t)exponential(j, 1200);
    sent->count = 0;
    body += run_task(j, region, process, sent);
    if (j->full) return;
    uint32_t size = 1 + sent->count + body, step = size > 300 ? 2000 : 5000 + (uint32_t)exponential(j, 20000);
    int64_t begin = j->t.time[region] > j->clock[strand] ? j->t.time[region] : j->clock[strand];
    j->t.time[region] = begin;
    j->t.offset[region] = j->t.strand_events[strand];
    j->t.size[region] = size;
    j->t.step[region] = step;
    j->t.strand_events[strand] += size;
    j->made->events += size;
    j->clock[strand] = begin + (int64_t)size * step;
    /* It waits for the last region of its process. */
    uint32_t before = j->last_region[process];
    if (j->tasks[region].kind == SIDE) {
        uint32_t at = 1 + (size > 1 ? below(j, size - 1) : 0);
        if (before != NONE && j->tasks[before].cascade == j->tasks[region].cascade && at < size && chance(j) < 0.03 &&
            j->t.time[before] + (int64_t)(j->t.size[before] - 1) * j->t.step[before] < begin + (int64_t)at * step) {
            add_edge(j, before, j->t.size[before] - 1, region, at, JOIN);
            j->last_region[process] = NONE;
        } else j->last_region[process] = region;
    }
    /* What is sent is sent in order, anywhere after the first event. */
    uint32_t at = 1, left = size - 1;
    for (uint32_t i = 0; i < sent->count; i++, at++, left--) {
        while (below(j, left) >= sent->count - i) {
            at++;
            left--;
        }
        uint32_t to = sent->region[i];
        int64_t due = begin + (int64_t)at * step + latency(j, sent->kind[i]);
        add_edge(j, region, at, to, 0, sent->kind[i]);
        bool first = !j->t.time[to];
        if (due > j->t.time[to]) j->t.time[to] = due;
        /* The last round begins when every worker is done. */
        if (to == j->last ? j->tasks[region].kind == DONE && j->done[STAGES - 1] == j->per_stage : first) push(j, due, to);
    }
}

static bool set_up(Job *j) {
    const Wanted *w = j->wanted;
    size_t rooms = w->process_room;
    j->tasks = malloc(w->region_room * sizeof *j->tasks);
    j->clock = calloc(w->strand_room, sizeof *j->clock);
    j->first_strand = malloc(rooms * 4);
    j->strand_count = malloc(rooms * 4);
    j->batch = malloc(rooms * 4);
    j->last_region = malloc(rooms * 4);
    j->worker_process = malloc(rooms * 4);
    j->by_machine = malloc(rooms * 4);
    j->machine_first = calloc(w->machines + 2, 4);
    if (!j->tasks || !j->clock || !j->first_strand || !j->strand_count || !j->batch || !j->last_region || !j->worker_process ||
        !j->by_machine || !j->machine_first)
        return false;
    for (uint32_t m = 0; m < w->machines; m++) new_process(j, m, STORE, 16);
    for (uint32_t m = 0; m < w->machines; m++) new_process(j, m, DAEMON, 8);
    j->manager = new_process(j, below(j, w->machines), MANAGER, 4);
    double of_job = 0.92 * (double)w->events;
    j->per_stage = (uint32_t)(of_job / 45000 / STAGES);
    if (!j->per_stage) j->per_stage = 1;
    if (j->per_stage > 4000) j->per_stage = 4000;
    j->workers = j->per_stage * STAGES;
    for (uint32_t i = 0; i < j->workers && !j->full; i++) {
        uint32_t machine = below(j, w->machines);
        j->worker_process[i] = new_process(j, machine, WORKER, 6);
        j->machine_first[machine + 1]++;
    }
    for (uint32_t m = 0; m < w->machines; m++) j->machine_first[m + 1] += j->machine_first[m];
    uint32_t *next = malloc(w->machines * 4);
    if (!next || j->full) {
        free(next);
        return false;
    }
    memcpy(next, j->machine_first, w->machines * 4);
    for (uint32_t i = 0; i < j->workers; i++)
        j->by_machine[next[j->t.process_machine[j->worker_process[i]]]++] = j->worker_process[i];
    free(next);
    j->smallest_cascade = smallest_for(j, of_job / 7.2 / j->workers / CHAIN);
    return true;
}

/* Fills the tables; region 0 is where the job begins. 0, or -1 when there is not enough room. */
int generate(const Wanted *wanted, const Tables *tables, Made *made) {
    Job j = {.wanted = wanted, .made = made, .t = *tables, .random = wanted->seed};
    Sent *sent = malloc(sizeof *sent);
    *made = (Made){0};
    bool done = sent && set_up(&j);
    if (done) {
        push(&j, 1000000, new_region(&j, j.first_strand[j.manager], (Task){BOOT, 0, NONE, 0}));
        j.last = new_region(&j, j.first_strand[j.manager] + 2, (Task){LAST, 0, NONE, 0});
        double aside = 0.08 * (double)wanted->events / 7.2;
        while (aside > 0 && !j.full) {
            uint32_t size = cascade_size(&j);
            aside -= size;
            Task task = {SIDE, size, NONE, ++j.cascades};
            push(&j, 1 + (int64_t)(chance(&j) * 3e9), new_region(&j, any_strand(&j, below(&j, wanted->machines)), task));
        }
        while (j.due && !j.full) {
            Due due = pop(&j);
            if (j.t.time[due.region] > due.time) push(&j, j.t.time[due.region], due.region);
            else run_region(&j, due.region, sent);
        }
        done = !j.full;
    }
    free(sent);
    free(j.tasks);
    free(j.heap);
    free(j.clock);
    free(j.first_strand);
    free(j.strand_count);
    free(j.batch);
    free(j.last_region);
    free(j.worker_process);
    free(j.by_machine);
    free(j.machine_first);
    return done ? 0 : -1;
}

/* The time of every row; regions by `row`, their first rows. */
void fill_times(uint64_t regions, const uint64_t *row, const uint32_t *size, const uint32_t *step, const int64_t *time,
                int64_t *ts) {
    for (uint64_t region = 0; region < regions; region++)
        for (uint32_t i = 0; i < size[region]; i++) ts[row[region] + i] = time[region] + (int64_t)i * step[region];
}
