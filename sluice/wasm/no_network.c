/* No network device: a page has one machine (kernel/driver/virtio_net.h). */
#include "kernel/driver/virtio_net.h"

bool nic_probe(u8 mac[MAC_BYTES])
{
    (void)mac;
    return false;
}

void nic_start(void (*arrived)(void))
{
    (void)arrived;
}

bool nic_send(const void *head, u32 head_bytes, const void *body, u32 bytes)
{
    (void)head, (void)head_bytes, (void)body, (void)bytes;
    return false;
}

struct nic_buffer *nic_take(u32 *bytes)
{
    (void)bytes;
    return NULL;
}

void nic_give(struct nic_buffer *b)
{
    (void)b;
}

u32 nic_number(const struct nic_buffer *b)
{
    (void)b;
    return 0;
}

bool nic_is_sent(void)
{
    return true;
}
