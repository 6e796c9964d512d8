/*
 * examples/train.c: a small training program that watches its own memory.
 *
 * A network with one hidden layer learns to classify noisy pictures of 28 x 28 pixels into ten
 * classes, by backpropagation and stochastic gradient descent. At the end libtidemark reports
 * whether memory leaks. With --leak the program keeps every step's activations in a list "for a
 * plot later": the loss falls just as well, but memory grows for as long as the training runs.
 *
 *     cc -O2 train.c $(pkg-config --cflags --libs tidemark) -lm -o train
 *     ./train --epochs 20            exit status 0: no leak
 *     ./train --epochs 20 --leak     exit status 3: a leak, with its rate
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <tidemark.h>

enum {
    INPUTS = 28 * 28,
    HIDDEN = 48,
    CLASSES = 10,
    BATCH = 32,
    PICTURES = 1024,
    STEPS_PER_EPOCH = PICTURES / BATCH,
};

#define LEARNING_RATE 0.02f
#define NOISE 6.0f

/* ---- the data: one pattern per class, plus noise ---- */

struct data {
    float pictures[PICTURES][INPUTS];
    int labels[PICTURES];
};

/* xorshift: the same data and weights in every run. */
static unsigned long long random_state = 88172645463325252u;

static float uniform(void) /* -1 to 1 */
{
    random_state ^= random_state << 13;
    random_state ^= random_state >> 7;
    random_state ^= random_state << 17;
    return (float) (random_state >> 40) / (float) (1 << 23) - 1;
}

static void make_data(struct data *d)
{
    static float patterns[CLASSES][INPUTS];
    for (int c = 0; c < CLASSES; c++)
        for (int i = 0; i < INPUTS; i++)
            patterns[c][i] = uniform();
    for (int p = 0; p < PICTURES; p++) {
        d->labels[p] = p % CLASSES;
        for (int i = 0; i < INPUTS; i++)
            d->pictures[p][i] = patterns[p % CLASSES][i] + NOISE * uniform();
    }
}

/* A new order in every epoch. */
static void shuffle(int *order)
{
    for (int i = PICTURES - 1; i > 0; i--) {
        int j = (int) ((uniform() + 1) / 2 * (float) i), kept = order[i];
        order[i] = order[j];
        order[j] = kept;
    }
}

/* ---- the network ---- */

struct network {
    float w1[HIDDEN][INPUTS], b1[HIDDEN];
    float w2[CLASSES][HIDDEN], b2[CLASSES];
};

/* What the forward pass of a batch computes for the backward pass. */
struct activations {
    float hidden[BATCH][HIDDEN];
    float probabilities[BATCH][CLASSES];
};

static void init_network(struct network *n)
{
    for (int h = 0; h < HIDDEN; h++)
        for (int i = 0; i < INPUTS; i++)
            n->w1[h][i] = uniform() * sqrtf(6.0f / (INPUTS + HIDDEN));
    for (int c = 0; c < CLASSES; c++)
        for (int h = 0; h < HIDDEN; h++)
            n->w2[c][h] = uniform() * sqrtf(6.0f / (HIDDEN + CLASSES));
}

static float dot(const float *a, const float *b, int n)
{
    float sum = 0;
    for (int i = 0; i < n; i++)
        sum += a[i] * b[i];
    return sum;
}

/* y += scale * x */
static void add_scaled(float *y, const float *x, float scale, int n)
{
    for (int i = 0; i < n; i++)
        y[i] += scale * x[i];
}

static void softmax(float *x)
{
    float most = x[0], sum = 0;
    for (int c = 1; c < CLASSES; c++)
        most = fmaxf(most, x[c]);
    for (int c = 0; c < CLASSES; c++)
        sum += x[c] = expf(x[c] - most);
    for (int c = 0; c < CLASSES; c++)
        x[c] /= sum;
}

/* Fills the activations; returns the mean cross-entropy of the batch. */
static float forward(const struct network *n, const struct data *d, const int *batch,
                     struct activations *a)
{
    float loss = 0;
    for (int b = 0; b < BATCH; b++) {
        const float *picture = d->pictures[batch[b]];
        for (int h = 0; h < HIDDEN; h++)
            a->hidden[b][h] = fmaxf(0, n->b1[h] + dot(n->w1[h], picture, INPUTS));
        for (int c = 0; c < CLASSES; c++)
            a->probabilities[b][c] = n->b2[c] + dot(n->w2[c], a->hidden[b], HIDDEN);
        softmax(a->probabilities[b]);
        loss -= logf(a->probabilities[b][d->labels[batch[b]]] + 1e-9f);
    }
    return loss / BATCH;
}

/* One step down the gradient, picture by picture. */
static void backward(struct network *n, const struct data *d, const int *batch,
                     const struct activations *a)
{
    const float rate = LEARNING_RATE / BATCH;
    for (int b = 0; b < BATCH; b++) {
        float slopes[HIDDEN] = {0};
        for (int c = 0; c < CLASSES; c++) {
            float error = a->probabilities[b][c] - (c == d->labels[batch[b]] ? 1.0f : 0.0f);
            add_scaled(slopes, n->w2[c], error, HIDDEN);
            add_scaled(n->w2[c], a->hidden[b], -rate * error, HIDDEN);
            n->b2[c] -= rate * error;
        }
        for (int h = 0; h < HIDDEN; h++) {
            if (a->hidden[b][h] <= 0)
                continue;
            add_scaled(n->w1[h], d->pictures[batch[b]], -rate * slopes[h], INPUTS);
            n->b1[h] -= rate * slopes[h];
        }
    }
}

/* ---- training ---- */

struct options {
    long steps;
    int leak;
    const char *run_file;
};

/* The leak: a history that is never trimmed. */
struct history {
    struct history *before;
    struct activations activations;
};

static struct history *remember(struct history *before, const struct activations *a)
{
    struct history *h = malloc(sizeof(*h));
    if (!h)
        return before;
    h->before = before;
    h->activations = *a;
    return h;
}

static void forget(struct history *h)
{
    while (h) {
        struct history *before = h->before;
        free(h);
        h = before;
    }
}

static void print_step(tidemark_watcher *w, long step, const struct options *o, float loss)
{
    struct tidemark_now now = {.size = sizeof(now)};
    printf("step %ld/%ld  loss %.4f", step, o->steps, (double) loss);
    if (tidemark_look(w, &now) == 0)
        printf("  memory %.1f MB", now.host_bytes / 0x1p20);
    printf("\n");
}

static void train(const struct options *o, struct network *n, const struct data *d,
                  tidemark_watcher *w)
{
    static struct activations a;
    struct history *history = NULL;
    int order[PICTURES];
    for (int i = 0; i < PICTURES; i++)
        order[i] = i;
    for (long step = 1; step <= o->steps; step++) {
        long within = (step - 1) % STEPS_PER_EPOCH;
        if (within == 0)
            shuffle(order);
        float loss = forward(n, d, &order[within * BATCH], &a);
        backward(n, d, &order[within * BATCH], &a);
        if (o->leak)
            history = remember(history, &a);
        tidemark_step(w, loss);
        if (within == STEPS_PER_EPOCH - 1)
            tidemark_epoch_end(w);
        if (step == 1 || step % 100 == 0 || step == o->steps)
            print_step(w, step, o, loss);
    }
    tidemark_finish(w);
    forget(history);
}

/* 3: a leak that is not negligible; 4: too short to tell; 0: neither, or not watched. The same
 * as with `tidemark run --fail-on`. */
static int print_verdict(tidemark_watcher *w, const struct options *o)
{
    struct tidemark_verdict v = {.size = sizeof(v)};
    if (tidemark_judge(w, &v) < 0)
        return 0;
    printf("%s\n", v.summary);
    printf("truth: %zu bytes are kept a step\n", o->leak ? sizeof(struct history) : 0);
    if (v.answer == TIDEMARK_LEAK)
        return strcmp(v.severity, "negligible") == 0 ? 0 : 3;
    return v.answer == TIDEMARK_NO_LEAK ? 0 : 4;
}

static int usage(void)
{
    fprintf(stderr, "usage: train [--steps N | --epochs N] [--leak] [--run-file FILE]\n");
    return 1;
}

int main(int argc, char **argv)
{
    struct options o = {.steps = 20 * STEPS_PER_EPOCH};
    for (int i = 1; i < argc; i++) {
        const char *value = i + 1 < argc ? argv[i + 1] : NULL;
        if (strcmp(argv[i], "--leak") == 0)
            o.leak = 1;
        else if (strcmp(argv[i], "--steps") == 0 && value)
            o.steps = atol(argv[++i]);
        else if (strcmp(argv[i], "--epochs") == 0 && value)
            o.steps = atol(argv[++i]) * STEPS_PER_EPOCH;
        else if (strcmp(argv[i], "--run-file") == 0 && value)
            o.run_file = argv[++i];
        else
            return usage();
    }
    static struct data data;
    static struct network network;
    make_data(&data);
    init_network(&network);

    struct tidemark_options options = {.size = sizeof(options),
                                       .run_file = o.run_file,
                                       .plan_steps = (double) o.steps,
                                       .epoch = STEPS_PER_EPOCH};
    tidemark_watcher *w;
    int r = tidemark_open(&options, &w);
    if (r < 0) {
        fprintf(stderr, "train: not watched: %s\n", strerror(-r));
        w = NULL;
    }
    train(&o, &network, &data, w);
    int status = print_verdict(w, &o);
    tidemark_close(w);
    return status;
}
