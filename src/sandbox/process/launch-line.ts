import type { SandboxLanguage } from "../../domain/tools/sandbox.ts";
import type { Programs } from "./programs.ts";

/** Isolation of a worker process besides its limits. */
export interface Enclosure {
  /** Namespaces by bubblewrap: "" for none, or as root without a user namespace, or with one. */
  readonly bubblewrap: "" | "as-root" | "as-user";
  /** Whether `setpriv` of util-linux is available. */
  readonly setpriv: boolean;
  /** User id of the worker; undefined: unchanged. */
  readonly dropTo: number | undefined;
}

/** Kernel limits in the units of `ulimit`. */
export interface KernelLimits {
  /** RLIMIT_DATA, KiB; undefined: none, to measure an idle worker. */
  readonly dataKb: number | undefined;
  /** RLIMIT_CPU, s, including the worker's start. */
  readonly cpuSeconds: number;
}

export type LaunchLine = readonly [string, ...string[]];

/** Paths inside bubblewrap's file system. */
const INSIDE: Programs = { deno: "/sandbox/deno", pyodide: "/sandbox/pyodide", guest: "/sandbox/guest" };

/** The worker's complete environment. */
const ENVIRONMENT = {
  // A path that cannot exist, so nothing persists between runs.
  DENO_DIR: "/dev/null/deno",
  DENO_NO_UPDATE_CHECK: "1",
  // WebGPU needs no permission and loads the host's Vulkan and EGL drivers; with no backend it loads
  // nothing.
  DENO_WEBGPU_BACKEND: "none",
  // Without HOME, Deno asks the C library for it, which loads the host's name service modules.
  HOME: "/proc/none",
  NO_COLOR: "1",
  // Otherwise each thread that compiles keeps memory of its own.
  MALLOC_ARENA_MAX: "1",
} as const;

export const LAUNCH_ENVIRONMENT: Readonly<Record<string, string>> = {
  ...ENVIRONMENT,
  PATH: "/usr/bin:/bin:/usr/sbin:/sbin",
};

/** Returns the program paths as the worker sees them. */
export function programsSeen(enclosure: Enclosure, programs: Programs): Programs {
  return enclosure.bubblewrap === "" ? programs : INSIDE;
}

/** Returns a worker's command line, outermost first: limits, namespaces, privileges, Deno. */
export function launchLine(
  language: SandboxLanguage,
  programs: Programs,
  enclosure: Enclosure,
  limits: KernelLimits,
): LaunchLine {
  const seen = programsSeen(enclosure, programs);
  const worker = denoLine(language, seen);
  return [
    ...limitsLine(limits),
    ...namespacesLine(enclosure, programs),
    ...privilegesLine(enclosure),
    ...worker,
  ];
}

/** One `ulimit` per limit: some shells reject several flags, and then no limit would apply. */
function limitsLine({ dataKb, cpuSeconds }: KernelLimits): [string, ...string[]] {
  const data = dataKb === undefined ? "" : `ulimit -d ${dataKb} && `;
  // Makes the OOM killer prefer the guest to the gateway. Optional; the limits apply regardless.
  const first = "{ echo 1000 > /proc/self/oom_score_adj; } 2> /dev/null";
  // Closes inherited descriptors, such as sockets of a service manager.
  const closed = "exec 3>&- 4>&- 5>&- 6>&- 7>&- 8>&- 9>&-";
  const limits =
    `${first}; ${closed}; ulimit -c 0 && ulimit -f 0 && ulimit -n 256 && ulimit -t ${cpuSeconds} && ` +
    `${data}exec "$@"`;
  return ["/bin/sh", "-c", limits, "sh"];
}

/** Own PID, network, IPC and UTS namespaces, killed with the parent. */
const NAMESPACES =
  "--die-with-parent --unshare-pid --unshare-net --unshare-ipc --unshare-uts --unshare-cgroup-try".split(" ");
/** Capabilities that root needs to change its user. */
const AS_ROOT = "--cap-drop ALL --cap-add CAP_SETUID --cap-add CAP_SETGID --cap-add CAP_SETPCAP".split(" ");
const AS_USER = "--unshare-user --uid 65534 --gid 65534".split(" ");
/** Read-only system libraries. */
const SYSTEM = ["/lib", "/lib64", "/usr/lib", "/usr/lib64"].flatMap((folder) => [
  "--ro-bind-try",
  folder,
  folder,
]);
const FOLDER = "--perms 0755 --dir /sandbox".split(" ");
const SEALED = "--dev /dev --proc /proc --remount-ro / --chdir / --clearenv".split(" ");

function namespacesLine({ bubblewrap }: Enclosure, programs: Programs): string[] {
  if (bubblewrap === "") return [];
  const asRoot = bubblewrap === "as-root";
  const bind = (place: string, inside: string) => ["--ro-bind", place, inside];
  return [
    "bwrap",
    ...NAMESPACES,
    ...(asRoot ? AS_ROOT : AS_USER),
    ...FOLDER,
    ...SYSTEM,
    ...bind(programs.deno, INSIDE.deno),
    ...bind(programs.pyodide, INSIDE.pyodide),
    ...bind(programs.guest, INSIDE.guest),
    ...(asRoot ? bind("/usr/bin/setpriv", "/sandbox/setpriv") : []),
    ...SEALED,
    ...Object.entries(ENVIRONMENT).flatMap(([name, value]) => ["--setenv", name, value]),
    "--",
  ];
}

function privilegesLine({ bubblewrap, setpriv, dropTo }: Enclosure): string[] {
  if (!setpriv || bubblewrap === "as-user") return [];
  const drop =
    dropTo === undefined
      ? []
      : [
          `--reuid=${dropTo}`,
          `--regid=${dropTo}`,
          "--clear-groups",
          "--bounding-set=-all",
          "--inh-caps=-all",
        ];
  const command = bubblewrap === "" ? "setpriv" : "/sandbox/setpriv";
  return [command, ...drop, "--no-new-privs", "--pdeathsig=KILL", "--"];
}

/** No prompts and no downloads. */
const RUN = "run --quiet --no-prompt --no-config --no-lock --no-remote --no-npm".split(" ");
/** No permissions. */
const DENY = "--deny-net --deny-env --deny-run --deny-write --deny-sys --deny-ffi --deny-import".split(" ");

/** Python's worker may read the interpreter until it revokes that permission. */
function denoLine(language: SandboxLanguage, { deno, pyodide, guest }: Programs): string[] {
  const read = language === "python" ? `--allow-read=${pyodide}` : "--deny-read";
  return [deno, ...RUN, ...DENY, read, `${guest}/${language}.mjs`];
}
