#include "common/base.h"

#include "agent/tests/seed_mysql_stories.h"

int main(void)
{
    return seed_mysql_stories_run(false);
}
