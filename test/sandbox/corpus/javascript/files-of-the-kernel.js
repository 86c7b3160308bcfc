const fs = await import("node:fs");
for (const path of [
  "/proc/self/environ",
  "/proc/self/cmdline",
  "/proc/self/maps",
  "/proc/self/mem",
  "/proc/self/mountinfo",
  "/proc/1/cmdline",
  "/proc/net/tcp",
  "/proc/cpuinfo",
  "/sys/class/net",
  "/dev/zero",
  "/dev/tty",
  "/dev/fd/0",
  "/dev/fd/3",
  "/dev/shm",
])
  await attempt(path, () => (fs.openSync(path, "r"), "opened"));
for (const path of ["/dev/shm/x-{{port}}", "/proc/self/oom_score_adj", "/proc/self/comm", "/dev/fd/1"])
  await attempt(`writing to ${path}`, () => (fs.openSync(path, "w"), "opened"));
