import type { SandboxLanguage } from "../../domain/tools/sandbox.ts";
import type { Programs } from "./programs.ts";

/** What stands around a worker's process, besides the limits. */
export interface Enclosure {
  /** bubblewrap's namespaces; "" for none. As root without a user namespace of their own, else with one. */
  readonly bubblewrap: "" | "as-root" | "as-user";
  /** `setpriv` of util-linux is there. */
  readonly setpriv: boolean;
  /** Who the worker becomes; undefined: whoever started it. */
  readonly dropTo: number | undefined;
}

/** The limits that the kernel keeps, in the shell's units. */
export interface KernelLimits {
  /** RLIMIT_DATA, KiB; undefined: none, to see what an idle worker takes. */
  readonly dataKb: number | undefined;
  /** RLIMIT_CPU, s: what the worker took to start included. */
  readonly cpuSeconds: number;
}

/** A command with its arguments. */
export type LaunchLine = readonly [string, ...string[]];

/** Where a worker finds its programs inside bubblewrap's file system. */
const INSIDE: Programs = { deno: "/sandbox/deno", pyodide: "/sandbox/pyodide", guest: "/sandbox/guest" };

/** All that a worker's environment holds. */
const ENVIRONMENT = {
  // Can never exist, so nothing is kept from one run to the next.
  DENO_DIR: "/dev/null/deno",
  DENO_NO_UPDATE_CHECK: "1",
  // WebGPU needs no permission and loads the host's Vulkan and EGL drivers; with no backend it loads nothing.
  DENO_WEBGPU_BACKEND: "none",
  // Without it Deno asks the C library for the user's home, which loads the host's name service modules.
  HOME: "/proc/none",
  NO_COLOR: "1",
} as const;

/** The environment of the whole line. */
export const LAUNCH_ENVIRONMENT: Readonly<Record<string, string>> = {
  ...ENVIRONMENT,
  PATH: "/usr/bin:/bin:/usr/sbin:/sbin",
};

/** Where the programs are, as the worker itself sees them. */
export function programsSeen(enclosure: Enclosure, programs: Programs): Programs {
  return enclosure.bubblewrap === "" ? programs : INSIDE;
}

/** The line that starts a worker behind every wall, from the outside in: limits, namespaces, privileges, Deno without permissions. */
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

/** One limit a command: several flags in one `ulimit` are an error in some shells, and then nothing would hold. */
function limitsLine({ dataKb, cpuSeconds }: KernelLimits): [string, ...string[]] {
  const data = dataKb === undefined ? "" : `ulimit -d ${dataKb} && `;
  // Should the machine run out of memory, the kernel takes a guest and not the gateway. Where it may not be told, the limits hold all the same.
  const first = "{ echo 1000 > /proc/self/oom_score_adj; } 2> /dev/null";
  // What whoever started the gateway left open for its children (sockets of a service manager) is none of a guest's business.
  const closed = "exec 3>&- 4>&- 5>&- 6>&- 7>&- 8>&- 9>&-";
  const limits = `${first}; ${closed}; ulimit -c 0 && ulimit -f 0 && ulimit -n 256 && ulimit -t ${cpuSeconds} && ${data}exec "$@"`;
  return ["/bin/sh", "-c", limits, "sh"];
}

/** A process, network, message and host name table of its own, which end with whoever started them. */
const NAMESPACES =
  "--die-with-parent --unshare-pid --unshare-net --unshare-ipc --unshare-uts --unshare-cgroup-try".split(" ");
/** Root keeps what it needs to become somebody else. */
const AS_ROOT = "--cap-drop ALL --cap-add CAP_SETUID --cap-add CAP_SETGID --cap-add CAP_SETPCAP".split(" ");
const AS_USER = "--unshare-user --uid 65534 --gid 65534".split(" ");
/** What every program needs of a system, and nobody can write to. */
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

/** Nothing is asked, and nothing is fetched. */
const RUN = "run --quiet --no-prompt --no-config --no-lock --no-remote --no-npm".split(" ");
/** Nothing is allowed. */
const DENY = "--deny-net --deny-env --deny-run --deny-write --deny-sys --deny-ffi --deny-import".split(" ");

/** Python's worker may read its interpreter, until it gives that up. */
function denoLine(language: SandboxLanguage, { deno, pyodide, guest }: Programs): string[] {
  const read = language === "python" ? `--allow-read=${pyodide}` : "--deny-read";
  return [deno, ...RUN, ...DENY, read, `${guest}/${language}.mjs`];
}
