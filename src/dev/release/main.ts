// Builds into dist/ and prints the tarballs: main.ts client|gateway …
// Without arguments it builds the whole release and prints digests.
import { createHash } from "node:crypto";
import { readFile, rm } from "node:fs/promises";
import path from "node:path";
import process from "node:process";
import { VERSION } from "../../version.ts";
import { buildClientPackage } from "./client-package.ts";
import { buildGatewayPackage } from "./gateway-package.ts";
import { writeSbom } from "./sbom.ts";
import { DIST, pack, run } from "./tools.ts";

const log = (line: string) => void process.stderr.write(`${line}\n`);
const BUILDERS = new Map([
  ["client", buildClientPackage],
  ["gateway", () => buildGatewayPackage(log)],
]);

const names = process.argv.slice(2);
if (names.length === 0) await release();
else for (const name of names) process.stdout.write(`${await built(name)}\n`);

async function built(name: string): Promise<string> {
  const build = BUILDERS.get(name);
  if (!build) throw new Error(`${name}: is neither ${[...BUILDERS.keys()].join(" nor ")}`);
  return pack(await build());
}

/** Builds both packages, the deploy files and the SBOM; prints the size and SHA-256 of each. */
async function release(): Promise<void> {
  const changes = await readFile(path.join(DIST, "../CHANGELOG.md"), "utf8");
  if (!changes.includes(`## [${VERSION}]`)) throw new Error(`CHANGELOG.md: has no section [${VERSION}]`);
  const deploy = path.join(DIST, `toolgate-deploy-${VERSION}.tar.gz`);
  const sbom = path.join(DIST, `toolgate-${VERSION}.cdx.json`);
  await rm(DIST, { recursive: true, force: true });
  const packages = [await built("client"), await built("gateway")];
  await run("tar", "-czf", deploy, "deploy", "LICENSE");
  await writeSbom(sbom);
  for (const file of [...packages, deploy, sbom]) {
    const bytes = await readFile(file);
    const digest = createHash("sha256").update(bytes).digest("hex");
    process.stdout.write(`${digest}  ${path.basename(file)}  ${(bytes.length / 1000).toFixed(0)} kB\n`);
  }
}
