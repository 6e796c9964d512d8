/* tests/attach/programs/embed_twice.c: Python in a program that outlives it, and starts it again. */
#include <Python.h>

#include <unistd.h>

#define SPIN                                                                                       \
    "import time\n"                                                                                \
    "print('ready', flush=True)\n"                                                                 \
    "end = time.monotonic() + %s\n"                                                                \
    "while time.monotonic() < end:\n"                                                              \
    "    pass\n"

int main(int argc, char **argv)
{
    char text[512];
    snprintf(text, sizeof(text), SPIN, argc > 1 ? argv[1] : "1");
    for (int i = 0; i < 2; i++) {
        Py_Initialize();
        int failed = PyRun_SimpleString(text);
        if (Py_FinalizeEx() < 0 || failed)
            return 1;
        usleep(500000);
        puts("ended");
        fflush(stdout);
        if (getchar() == EOF)
            return 2;
    }
    return 0;
}
