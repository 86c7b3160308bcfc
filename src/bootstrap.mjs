// The door from any Node >= 20 into the project: installs what is missing, then runs a program on the pinned Node.
//   node src/bootstrap.mjs dev …            -> src/main.ts dev …
//   node src/bootstrap.mjs --run FILE …     -> FILE …
// Plain JavaScript on purpose: it is the one file that must run before anything is installed.
import { spawn, spawnSync } from "node:child_process";
import { createHash } from "node:crypto";
import { existsSync, mkdirSync, readFileSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import path from "node:path";
import process from "node:process";
import { fileURLToPath } from "node:url";

const root = path.resolve(path.dirname(fileURLToPath(import.meta.url)), "..");
const modules = path.join(root, "node_modules");
const bin = path.join(modules, ".bin");
const stamp = path.join(modules, ".installed");

installWhatIsMissing();
const [target, ...args] = process.argv.slice(2);
const program = target === "--run" ? args : [path.join("src", "main.ts"), ...process.argv.slice(2)];
run(pinnedNode(), program);

/** `npm ci`, when the lock file is not the one that node_modules was installed from. */
function installWhatIsMissing() {
  const lock = createHash("sha256")
    .update(readFileSync(path.join(root, "package-lock.json")))
    .digest("hex");
  if (existsSync(stamp) && readFileSync(stamp, "utf8") === lock) return;
  process.stderr.write("Installing dependencies (npm ci), once …\n");
  const npm = process.platform === "win32" ? "npm.cmd" : "npm";
  const install = spawnSync(npm, ["ci", "--no-audit", "--no-fund", "--loglevel=error"], {
    cwd: root,
    stdio: ["ignore", 2, 2],
    shell: process.platform === "win32",
  });
  if (install.error || install.status !== 0) {
    process.stderr.write(
      `npm ci failed${install.error ? `: ${install.error.message}` : ""}. Fix what it says above and run the command again.\n`,
    );
    process.exit(1);
  }
  linkNode();
  writeFileSync(stamp, lock);
}

/** The `node` package fetches its binary in an install script, and scripts are off: link the platform package's binary in its place. */
function linkNode() {
  const binary = platformNode();
  if (!binary || process.platform === "win32") return;
  const place = path.join(modules, "node", "bin", "node");
  mkdirSync(path.dirname(place), { recursive: true });
  for (const link of [place, path.join(bin, "node")]) {
    rmSync(link, { force: true });
    symlinkSync(path.relative(path.dirname(link), binary), link);
  }
}

function platformNode() {
  const platform = process.platform === "win32" ? "win" : process.platform;
  const file = path.join(
    modules,
    `node-${platform}-${process.arch}`,
    "bin",
    process.platform === "win32" ? "node.exe" : "node",
  );
  return existsSync(file) ? file : undefined;
}

function pinnedNode() {
  const binary = platformNode();
  if (binary) return binary;
  if (Number(process.versions.node.split(".")[0]) >= 24) return process.execPath;
  process.stderr.write(
    `There is no packaged Node 24 for ${process.platform}-${process.arch}: put Node 24 on the PATH and run the command again.\n`,
  );
  process.exit(1);
}

/** Runs the program in the foreground: its signals, its exit code, the project's own tools first on the PATH. */
function run(node, [file, ...rest]) {
  const child = spawn(node, [path.resolve(root, file), ...rest], {
    stdio: "inherit",
    env: { ...process.env, PATH: `${bin}${path.delimiter}${process.env.PATH ?? ""}` },
  });
  for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"]) {
    // A terminal's Ctrl-C reaches the program itself, and a second one means "at once".
    process.on(signal, () => (signal === "SIGINT" && process.stdin.isTTY ? undefined : child.kill(signal)));
  }
  child.on("exit", (code, signal) => process.exit(code ?? (signal === "SIGINT" ? 130 : 143)));
}
