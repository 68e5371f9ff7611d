/* Print the results of a job. */
#include "user/load/iogen/iogen.h"
#include "user/lib/json.h"

static void print_string(const char *key, const char *text)
{
    printf("\"%s\":", key);
    json_print_string(text);
    printf(",");
}

static void print_json(const struct job *j)
{
    printf("iogen {");
    print_string("job", j->name);
    printf("\"pid\":%d,", getpid());
    print_string("rw", modes[j->mode].name);
    print_string("filename", j->filename);
    printf("\"bs\":%lu,\"seed\":%lu,\"ios\":%lu,\"reads\":%lu,\"writes\":%lu,",
           j->bs_bytes, j->seed, response.count, j->reads, j->writes);
    printf("\"bytes\":%lu,\"errors\":%lu,\"fsyncs\":%lu,",
           response.count * j->bs_bytes, j->errors, fsyncs.count);
    printf("\"start_ns\":%lu,\"elapsed_ns\":%lu,\"late_ns\":%lu,", j->start_ns,
           j->end_ns - j->start_ns, j->late_ns);
    printf("\"response_ns\":");
    histogram_print_summary(&response);
    printf(",\"fsync_ns\":");
    histogram_print_summary(&fsyncs);
    printf(",\"histogram\":");
    histogram_print_buckets(&response);
    printf("}\n");
}

static void print_ms(const char *what, u64 ns)
{
    printf("  %s %lu.%03lu", what, ns / NS_PER_MS, ns % NS_PER_MS / NS_PER_US);
}

static void print_times(const char *what, const struct histogram *h)
{
    printf("    %s, ms:", what);
    print_ms("mean", h->sum / MAX(h->count, 1));
    print_ms("median", histogram_quantile(h, 500));
    print_ms("p99", histogram_quantile(h, 990));
    print_ms("longest", h->max);
    printf("\n");
}

/* Print the results as text for people. */
static void print_text(const struct job *j)
{
    u64 ms = (j->end_ns - j->start_ns) / NS_PER_MS;
    printf("iogen %s: %lu reads and %lu writes of %lu bytes in %lu.%03lu s",
           j->name, j->reads, j->writes, j->bs_bytes, ms / 1000, ms % 1000);
    if (j->errors)
        printf(", %lu failed", j->errors);
    printf("\n");
    print_times("response time", &response);
    if (fsyncs.count)
        print_times("fsync", &fsyncs);
}

void print_result(const struct job *j)
{
    if (j->output == OUTPUT_TEXT)
        print_text(j);
    else
        print_json(j);
}

void write_log(const struct job *j)
{
    FILE *f = fopen(j->log_path, "w");
    if (!f)
        die("%s: log=%s", j->name, j->log_path);
    for (u64 i = 0; i < response.count; i++) {
        const struct record *r = &j->record[i];
        fprintf(f, "%lu %lu %lu %c\n", r->start_ns, r->response_ns, r->block,
                r->write ? 'w' : 'r');
    }
    if (fclose(f) != 0)
        die("%s: log=%s", j->name, j->log_path);
}
