// The pinned Node of the npm package node-<platform>-<arch>. Plain JavaScript: any Node >= 20 runs it.
import { spawn } from "node:child_process";
import { existsSync, readFileSync } from "node:fs";
import { createRequire } from "node:module";
import path from "node:path";
import process from "node:process";

const PINNED_MAJOR = 24;

/** Returns the major version in "24.21.0". */
const majorOf = (version) => Number(version.split(".")[0]);

/** Whether this process runs on the pinned Node or a newer one. */
export const isRecent = majorOf(process.versions.node) >= PINNED_MAJOR;

/** Returns the path of the packaged Node; undefined where it is not installed. */
export function packagedNode() {
  const [platform, file] =
    process.platform === "win32" ? ["win", "node.exe"] : [process.platform, path.join("bin", "node")];
  try {
    const manifest = createRequire(import.meta.url).resolve(`node-${platform}-${process.arch}/package.json`);
    const binary = path.join(path.dirname(manifest), file);
    const { version } = JSON.parse(readFileSync(manifest, "utf8"));
    return majorOf(version) >= PINNED_MAJOR && existsSync(binary) ? binary : undefined;
  } catch {
    return undefined;
  }
}

/** Exits with one line that names the Node that is needed, and the remedy. */
export function refuseNode() {
  process.stderr.write(
    `Toolgate needs Node ${PINNED_MAJOR}, and this is ${process.version}: install Node ${PINNED_MAJOR}, ` +
      `or the optional packages, which bring it for Linux and Windows\n`,
  );
  process.exit(1);
}

/**
 * Runs the program in the foreground, forwards signals and its exit code.
 * @param env of the program; this process's by default
 */
export function runOn(node, args, env) {
  const child = spawn(node, args, { stdio: "inherit", env });
  // The program itself handles SIGHUP.
  process.on("SIGHUP", () => {});
  for (const signal of ["SIGINT", "SIGTERM"]) {
    // The terminal already sends Ctrl-C to the program; forwarding it again would mean "stop at once".
    process.on(signal, () => (signal === "SIGINT" && process.stdin.isTTY ? undefined : child.kill(signal)));
  }
  // A binary for another C library does not start.
  child.on("error", refuseNode);
  child.on("exit", (code, signal) => process.exit(code ?? (signal === "SIGINT" ? 130 : 143)));
}
