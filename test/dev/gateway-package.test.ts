import { mkdtemp, readFile, rm } from "node:fs/promises";
import { createServer } from "node:http";
import os from "node:os";
import path from "node:path";
import process from "node:process";
import { expect, it } from "vitest";
import { z } from "zod";
import { gatewayManifest } from "../../src/dev/release/gateway-package.ts";
import { shrinkwrapOf } from "../../src/dev/release/shrinkwrap.ts";
import { closeServer, listen } from "../support/servers.ts";
import { command, ROOT } from "../tooling/command.ts";

const lock = z.looseObject({
  packages: z.record(
    z.string(),
    z.looseObject({
      version: z.string().optional(),
      integrity: z.string().optional(),
      dev: z.boolean().optional(),
    }),
  ),
});

async function lockAt(file: string): Promise<z.infer<typeof lock>["packages"]> {
  return lock.parse(JSON.parse(await readFile(file, "utf8"))).packages;
}

it("the package's shrinkwrap has the tested versions of its dependencies, and no others", async () => {
  const file = path.join(ROOT, "package-lock.json");
  const [manifest, tested] = [await gatewayManifest(), await lockAt(file)];
  const { packages } = shrinkwrapOf(manifest, await readFile(file, "utf8"));
  const { dependencies, optionalDependencies } = manifest;
  expect(packages[""]).toMatchObject({ name: "toolgate", dependencies, optionalDependencies });
  for (const name of Object.keys({ ...dependencies, ...optionalDependencies }))
    expect(packages, name).toHaveProperty([`node_modules/${name}`]);
  const { "": _root, ...locked } = packages;
  for (const [place, { version, integrity }] of Object.entries(locked))
    expect(tested[place], place).toMatchObject({ version, integrity });
  expect(Object.keys(locked).filter((place) => tested[place]?.dev)).toEqual([]);
  expect(Object.keys(locked).filter((place) => /\/(node-(linux|win)|typescript)/.test(place))).toEqual([]);
});

/** A registry with the built package, which redirects the rest to npm: a tarball's shrinkwrap is ignored. */
async function openRegistry(tarball: string) {
  const manifest = await gatewayManifest();
  const server = createServer((request, response) => {
    const dist = { tarball: `http://${request.headers.host}/toolgate.tgz` };
    const versions = { [manifest.version]: { ...manifest, _hasShrinkwrap: true, dist } };
    if (request.url === "/toolgate")
      response.end(JSON.stringify({ name: "toolgate", "dist-tags": { latest: manifest.version }, versions }));
    else if (request.url === "/toolgate.tgz") void readFile(tarball).then((bytes) => response.end(bytes));
    else response.writeHead(302, { location: `https://registry.npmjs.org${request.url}` }).end();
  });
  return { url: `http://127.0.0.1:${await listen(server)}`, close: () => closeServer(server) };
}

it("npx starts the packed gateway with the tested packages, and it sells a call", async ({ skip }) => {
  skip(process.env["RELEASE"] !== "everything", "downloads its packages: set RELEASE=everything");
  const built = await command("npm", ["run", "-s", "build:gateway"]);
  expect(built.code, built.output).toBe(0);
  const registry = await openRegistry(built.output.trim().split("\n").at(-1) ?? "");
  const empty = await mkdtemp(path.join(os.tmpdir(), "toolgate-gateway-"));
  try {
    const install = ["install", "toolgate", `--registry=${registry.url}`, "--prefix=.", "--no-audit"];
    const installed = await command("npm", install, { cwd: empty });
    expect(installed.code, installed.output).toBe(0);
    const found = await lockAt(path.join(empty, "node_modules/.package-lock.json"));
    const tested = await lockAt(path.join(ROOT, "dist/gateway/npm-shrinkwrap.json"));
    for (const [place, { version, integrity }] of Object.entries(tested).filter(([place]) => place !== ""))
      expect(found[`node_modules/toolgate/${place}`], place).toMatchObject({ version, integrity });
    expect(Object.keys(found)).toHaveLength(Object.keys(tested).length);
    const { code, output } = await command("npx", ["--no", "toolgate", "dev", "--exit-after-demo"], {
      cwd: empty,
      env: { PORT: "0", GRPC_PORT: "0" },
    });
    expect(code, output).toBe(0);
    expect(output).toMatch(/-> 200, receipt rcpt_/);
    expect(output).toContain("npx toolgate accounts operator");
  } finally {
    await registry.close();
    await rm(empty, { recursive: true, force: true });
  }
});
