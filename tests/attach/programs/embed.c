/* tests/attach/programs/embed.c: a program of its own with Python in it. "late": not yet. */
#include <Python.h>

int main(int argc, char **argv)
{
    if (argc > 2 && strcmp(argv[2], "late") == 0) {
        puts("ready");
        fflush(stdout);
        pause();
    }
    Py_Initialize();
    FILE *file = fopen(argv[1], "r");
    int failed = !file || PyRun_SimpleFile(file, argv[1]);
    return Py_FinalizeEx() < 0 || failed;
}
