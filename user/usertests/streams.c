/* The C library's streams (C11, 7.21): what a call promises, or an error. */
#include "user/usertests/usertests.h"

static FILE *must_open(const char *path, const char *mode)
{
    FILE *f = fopen(path, mode);
    TRUE(f);
    return f;
}

TEST(a_stream_has_a_mode_that_it_knows)
{
    static const char *const wrong[] = {"",    "r+", "w+", "a+", "rw",  "rb+",
                                        "r+b", "wx", "x",  "b",  "rbb", "R"};
    WRITE_FILE("f", 100, 1);
    for (u32 i = 0; i < NELEM(wrong); i++) {
        errno = 0;
        TRUE(!fopen("f", wrong[i]) && errno == EINVAL);
        TRUE(!fopen("new", wrong[i]) && !exists("new"));
    }
    CHECK_FILE("f", 100, 1);
    IS(fclose(must_open("f", "rb")), 0);
    IS(fclose(must_open("f", "ab")), 0);
    CHECK_FILE("f", 100, 1);
    IS(fclose(must_open("f", "wb")), 0);
    IS(STAT("f").st_size, 0);
}

/* Each of these must fail on a stream that reads. */
static void writes_to(FILE *f, u32 how)
{
    errno = 0;
    if (how == 0)
        IS(fputs("x", f), EOF);
    else if (how == 1)
        IS(fprintf(f, "%d", 1), EOF);
    else
        IS(fwrite("abc", 1, 3, f), 0);
    IS(errno, EBADF);
}

TEST(writing_to_a_stream_that_reads_is_an_error)
{
    WRITE_FILE("f", 100, 1);
    for (u32 how = 0; how < 3; how++) {
        FILE *f = must_open("f", "r");
        IS(getc(f), (u8)pattern_byte(1, 0));
        writes_to(f, how);
        TRUE(ferror(f));
        IS(getc(f), (u8)pattern_byte(1, 1)); /* what it has read is whole */
        FAILS(EBADF, fclose(f));
    }
    CHECK_FILE("f", 100, 1);
}

TEST(reading_from_a_stream_that_writes_is_an_error)
{
    char *line = NULL, byte;
    size_t size = 0;
    for (u32 how = 0; how < 3; how++) {
        FILE *f = must_open("f", "w");
        IS(fputs("written", f), 0);
        errno = 0;
        if (how == 0)
            IS(getc(f), EOF);
        else if (how == 1)
            IS(fread(&byte, 1, 1, f), 0);
        else
            IS(getline(&line, &size, f), -1);
        TRUE(errno == EBADF && ferror(f));
        clearerr(f);
        TRUE(!ferror(f));
        IS(fclose(f), 0);
        IS(STAT("f").st_size, 7);
    }
}

TEST(an_error_of_a_write_stays_until_it_is_cleared)
{
    FILE *f = must_open("f", "w");
    close(fileno(f));
    IS(fputs("abc", f), 0); /* into the buffer */
    FAILS(EBADF, fflush(f));
    TRUE(ferror(f));
    FAILS(EBADF, fflush(f));
    IS(fputs("d", f), EOF);
    clearerr(f);
    IS(fputs("", f), 0);
}

TEST(items_of_no_bytes_are_no_items)
{
    FILE *f = must_open("f", "w");
    IS(fwrite("abc", 0, 7, f), 0);
    IS(fwrite("abc", 3, 0, f), 0);
    IS(fwrite("abcdef", 2, 3, f), 3);
    FAILS(EINVAL, fwrite("abc", 1UL << 33, 1UL << 31, f) - 1);
    clearerr(f);
    IS(fclose(f), 0);
    f = must_open("f", "r");
    IS(fread(buf, 0, 7, f), 0);
    IS(fread(buf, 7, 0, f), 0);
    IS(fread(buf, 4, 2, f), 1); /* and a part of an item */
    TRUE(memcmp(buf, "abcdef", 6) == 0);
    IS(fclose(f), 0);
    f = must_open("f", "r");
    IS(fread(buf, 1, ~0UL, f), 6);
    IS(fclose(f), 0);
    f = must_open("f", "r");
    IS(fread(buf, 2, 1UL << 63, f), 3);
    IS(fclose(f), 0);
}

TEST(bytes_above_127_are_no_end_of_file)
{
    FILE *f = must_open("f", "w");
    IS(fwrite("\xff\0\x80", 1, 3, f), 3);
    IS(fclose(f), 0);
    f = must_open("f", "r");
    TRUE(getc(f) == 0xff && getc(f) == 0 && getc(f) == 0x80 && getc(f) == EOF);
    TRUE(getc(f) == EOF && !ferror(f));
    IS(fclose(f), 0);
}

TEST(the_end_of_a_file_stays_until_it_is_cleared)
{
    char *line = NULL;
    size_t size = 0;
    for (u32 how = 0; how < 3; how++) {
        WRITE_FILE("f", 10, 1);
        FILE *f = must_open("f", "r"), *more = must_open("f", "a");
        IS(fread(buf, 1, 20, f), 10);
        IS(fputs("more", more), 0);
        IS(fclose(more), 0);
        if (how == 0)
            IS(getc(f), EOF);
        else if (how == 1)
            IS(fread(buf, 1, 20, f), 0);
        else
            IS(getline(&line, &size, f), -1);
        TRUE(!ferror(f));
        clearerr(f);
        IS(getc(f), 'm');
        IS(fclose(f), 0);
    }
}

TEST(a_spare_name_is_no_files_and_always_fits)
{
    char name[NAME_BYTES + 1], path[PATH_BYTES], spare[PATH_BYTES];
    memset(name, 'n', sizeof name - 1);
    name[NAME_BYTES] = 0;
    WRITE_FILE(name, 10, 1);
    OK(spare_name(spare, name));
    TRUE(!exists(spare) && strlen(spare) <= NAME_BYTES);
    WRITE_FILE(spare, 10, 1);
    char first[PATH_BYTES];
    strlcpy(first, spare, sizeof first);
    OK(spare_name(spare, name));
    TRUE(!exists(spare) && strcmp(first, spare) != 0);
    OK(mkdir("d", 0755));
    OK(spare_name(spare, "d/f"));
    TRUE(strncmp(spare, "d/", 2) == 0 && !strchr(spare + 2, '/'));
    memset(path, '/', sizeof path - 1);
    path[PATH_BYTES - 1] = 0;
    FAILS(ENAMETOOLONG, spare_name(spare, path));
}

TEST(a_line_has_any_length_and_any_bytes)
{
    static const u64 lengths[] = {
        0, 1, 126, 127, 128, BUFSIZ - 1, BUFSIZ, BUFSIZ + 1, 2 * BUFSIZ, 50000};
    FILE *f = must_open("f", "w");
    memset(buf, 0, sizeof buf);
    for (u32 i = 0; i < NELEM(lengths); i++) {
        IS(fwrite(buf, 1, lengths[i], f), (i64)lengths[i]);
        IS(fputs("\n", f), 0);
    }
    IS(fputs("end", f), 0);
    IS(fclose(f), 0);
    char *line = NULL;
    size_t size = 999; /* means nothing without a line */
    f = must_open("f", "r");
    for (u32 i = 0; i < NELEM(lengths); i++) {
        IS(getline(&line, &size, f), (i64)lengths[i] + 1);
        TRUE(line[lengths[i]] == '\n' && line[lengths[i] + 1] == 0);
        TRUE(size > lengths[i] + 1);
    }
    IS(getline(&line, &size, f), 3);
    TRUE(strcmp(line, "end") == 0);
    IS(getline(&line, &size, f), -1);
    TRUE(!ferror(f));
    IS(fclose(f), 0);
}

TEST(an_error_of_a_read_is_not_the_end_of_the_file)
{
    OK(mkdir("d", 0755));
    FILE *f = must_open("d", "r");
    TRUE(getc(f) == EOF && errno == EISDIR && ferror(f));
    errno = ENOENT; /* of what has come since */
    TRUE(ferror(f) && errno == EISDIR);
    FAILS(EISDIR, fclose(f));
}

static void exits_with_a_file_unwritten(u64 unused)
{
    (void)unused;
    FILE *f = must_open("f", "w");
    close(fileno(f));
    fputs("lost", f);
    exit(0);
}

TEST(exit_tells_that_a_stream_was_not_written)
{
    IS(STATUS(SPAWN(exits_with_a_file_unwritten, 0)), 1);
}

/* ---- trees ---- */

static u64 visited, deepest;

static int counts(const struct tree_entry *e)
{
    visited++;
    deepest = MAX(deepest, e->depth);
    return 0;
}

TEST(a_tree_is_walked_at_a_depth_beyond_descriptors_and_paths)
{
    enum { DEPTH = 150 }; /* more than descriptors; paths of 1,500 bytes */
    char home[PATH_BYTES];
    OK(getcwd(home, sizeof home));
    for (u32 i = 0; i < DEPTH; i++) {
        OK(mkdir("directory", 0755));
        OK(chdir("directory"));
    }
    WRITE_FILE("f", 10, 1);
    OK(symlink("..", "up"));
    OK(chdir(home));
    IS(tree_walk("directory", false, counts), 0);
    TRUE(visited == DEPTH + 2 && deepest == DEPTH);
    char now[PATH_BYTES];
    OK(getcwd(now, sizeof now));
    TRUE(strcmp(home, now) == 0);
    TRUE(exists("directory"));
    JOIN(SPAWN(exits, 0));
    IS(run((char *[]){"rm", "-r", "directory", NULL}), 0);
    TRUE(!exists("directory"));
}
