// The entry from any Node >= 20: runs a program on the pinned Node.
//   node src/bootstrap.mjs dev …            -> src/main.ts dev …, after installing what is missing
//   node src/bootstrap.mjs --run FILE …     -> FILE …, after installing what is missing
//   node src/bootstrap.mjs COMMAND …        -> src/main.ts COMMAND …; an operator's command never installs
// Plain JavaScript on purpose: it must run before anything is installed.
import { spawnSync } from "node:child_process";
import { createHash } from "node:crypto";
import { existsSync, mkdirSync, readFileSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import path from "node:path";
import process from "node:process";
import { fileURLToPath } from "node:url";
import { isRecent, packagedNode, refuseNode, runOn } from "./packaged-node.mjs";

const root = path.resolve(path.dirname(fileURLToPath(import.meta.url)), "..");
const modules = path.join(root, "node_modules");
const bin = path.join(modules, ".bin");
const stamp = path.join(modules, ".installed");

const [target, ...args] = process.argv.slice(2);
if (target === "dev" || target === "--run") installWhatIsMissing();
else refuseWhatIsMissing();
const [file, ...rest] = target === "--run" ? args : ["src/main.mjs", ...process.argv.slice(2)];
const node = packagedNode() ?? (isRecent ? process.execPath : refuseNode());
// The project's tools come first on the PATH.
const PATH = `${bin}${path.delimiter}${process.env.PATH ?? ""}`;
runOn(node, [path.resolve(root, file), ...rest], { ...process.env, PATH });

/** Runs `npm ci` when package-lock.json has changed since node_modules was installed. */
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
      `npm ci failed${install.error ? `: ${install.error.message}` : ""}. Fix it and try again.\n`,
    );
    process.exit(1);
  }
  linkNode();
  writeFileSync(stamp, lock);
}

/** Exits with one line when a production package is missing or has the wrong version. */
function refuseWhatIsMissing() {
  const { dependencies } = JSON.parse(readFileSync(path.join(root, "package.json"), "utf8"));
  const missing = Object.entries(dependencies).filter(([name, version]) => versionOf(name) !== version);
  if (missing.length === 0) return;
  const [name, version] = missing[0];
  const more = missing.length > 1 ? ` and ${missing.length - 1} more` : "";
  process.stderr.write(
    `Not installed: ${name} ${version}${more}. Stop the gateway of this folder, ` +
      `run \`npm ci --omit=dev\` in ${root}, and run the command again.\n`,
  );
  process.exit(1);
}

function versionOf(name) {
  try {
    return JSON.parse(readFileSync(path.join(modules, name, "package.json"), "utf8")).version;
  } catch {
    return undefined;
  }
}

/** Install scripts are off, so the `node` package has no binary: links the one of the platform package. */
function linkNode() {
  const binary = packagedNode();
  if (!binary || process.platform === "win32") return;
  const place = path.join(modules, "node", "bin", "node");
  mkdirSync(path.dirname(place), { recursive: true });
  for (const link of [place, path.join(bin, "node")]) {
    rmSync(link, { force: true });
    symlinkSync(path.relative(path.dirname(link), binary), link);
  }
}
