import type { SandboxLanguage } from "../../domain/sandbox.ts";
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

/** All that a worker's environment holds. Deno's cache can never exist there, so nothing is kept from one run to the next. */
const ENVIRONMENT = { DENO_DIR: "/dev/null/deno", DENO_NO_UPDATE_CHECK: "1", NO_COLOR: "1" } as const;

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
  return [...limitsLine(limits), ...namespacesLine(enclosure, programs), ...privilegesLine(enclosure), ...worker];
}

/** One limit a command: several flags in one `ulimit` are an error in some shells, and then nothing would hold. */
function limitsLine({ dataKb, cpuSeconds }: KernelLimits): [string, ...string[]] {
  const data = dataKb === undefined ? "" : `ulimit -d ${dataKb} && `;
  const limits = `ulimit -c 0 && ulimit -f 0 && ulimit -n 256 && ulimit -t ${cpuSeconds} && ${data}exec "$@"`;
  return ["/bin/sh", "-c", limits, "sh"];
}

function namespacesLine({ bubblewrap }: Enclosure, programs: Programs): string[] {
  if (bubblewrap === "") return [];
  const asRoot = bubblewrap === "as-root";
  const capabilities = ["CAP_SETUID", "CAP_SETGID", "CAP_SETPCAP"].flatMap((name) => ["--cap-add", name]);
  const libraries = ["/lib", "/lib64", "/usr/lib", "/usr/lib64"].flatMap((folder) => ["--ro-bind-try", folder, folder]);
  return [
    "bwrap",
    "--die-with-parent",
    ...["--unshare-pid", "--unshare-net", "--unshare-ipc", "--unshare-uts", "--unshare-cgroup-try"],
    ...(asRoot ? ["--cap-drop", "ALL", ...capabilities] : ["--unshare-user", "--uid", "65534", "--gid", "65534"]),
    ...["--perms", "0755", "--dir", "/sandbox", ...libraries],
    ...["--ro-bind", programs.deno, INSIDE.deno],
    ...["--ro-bind", programs.pyodide, INSIDE.pyodide],
    ...["--ro-bind", programs.guest, INSIDE.guest],
    ...(asRoot ? ["--ro-bind", "/usr/bin/setpriv", "/sandbox/setpriv"] : []),
    ...["--dev", "/dev", "--proc", "/proc", "--remount-ro", "/", "--chdir", "/", "--clearenv"],
    ...Object.entries(ENVIRONMENT).flatMap(([name, value]) => ["--setenv", name, value]),
    "--",
  ];
}

function privilegesLine({ bubblewrap, setpriv, dropTo }: Enclosure): string[] {
  if (!setpriv || bubblewrap === "as-user") return [];
  const drop =
    dropTo === undefined
      ? []
      : [`--reuid=${dropTo}`, `--regid=${dropTo}`, "--clear-groups", "--bounding-set=-all", "--inh-caps=-all"];
  const command = bubblewrap === "" ? "setpriv" : "/sandbox/setpriv";
  return [command, ...drop, "--no-new-privs", "--pdeathsig=KILL", "--"];
}

/** Nothing is allowed, nothing is asked, nothing is fetched; Python's worker may read its interpreter until it gives that up. */
function denoLine(language: SandboxLanguage, { deno, pyodide, guest }: Programs): string[] {
  return [
    ...[deno, "run", "--quiet", "--no-prompt", "--no-config", "--no-lock", "--no-remote", "--no-npm"],
    ...["--deny-net", "--deny-env", "--deny-run", "--deny-write", "--deny-sys", "--deny-ffi", "--deny-import"],
    language === "python" ? `--allow-read=${pyodide}` : "--deny-read",
    `${guest}/${language}.mjs`,
  ];
}
