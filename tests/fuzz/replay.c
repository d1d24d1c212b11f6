/*
 * replay.c - runs one fuzz target over the files of a folder: the corpus as a test.
 *
 * No libFuzzer needed. Each input is given in a heap block of its exact size. A target
 * that finds something aborts; an empty folder is an error, so that a wrong path is seen.
 */
#include <dirent.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static int
run_file(const char *path)
{
    FILE *f = fopen(path, "rb");
    if (f == NULL)
    {
        perror(path);
        return -1;
    }
    int result = -1;
    uint8_t *data = NULL;
    if (fseek(f, 0, SEEK_END) != 0)
        goto out;
    long size = ftell(f);
    if (size < 0 || fseek(f, 0, SEEK_SET) != 0)
        goto out;
    data = malloc(size == 0 ? 1 : (size_t)size);
    if (data == NULL || fread(data, 1, (size_t)size, f) != (size_t)size)
        goto out;
    (void)LLVMFuzzerTestOneInput(data, (size_t)size);
    result = 0;
out:
    if (result != 0)
        (void)fprintf(stderr, "cannot read %s\n", path);
    free(data);
    (void)fclose(f);
    return result;
}

int
main(int argc, char **argv)
{
    if (argc != 2 || strcmp(argv[1], "--help") == 0)
    {
        (void)fprintf(stderr, "usage: %s CORPUS-FOLDER\n", argv[0]);
        return argc == 2 ? 0 : 2;
    }
    DIR *dir = opendir(argv[1]);
    if (dir == NULL)
    {
        perror(argv[1]);
        return 1;
    }
    size_t done = 0;
    const struct dirent *entry;
    while ((entry = readdir(dir)) != NULL)
    {
        char path[4096];
        if (entry->d_name[0] == '.')
            continue;
        (void)snprintf(path, sizeof(path), "%s/%s", argv[1], entry->d_name);
        /* Told before the run, so that a crash names its file. */
        (void)printf("%s\n", entry->d_name);
        (void)fflush(stdout);
        if (run_file(path) != 0)
        {
            (void)closedir(dir);
            return 1;
        }
        done++;
    }
    (void)closedir(dir);
    (void)printf("%zu inputs\n", done);
    return done > 0 ? 0 : 1;
}
