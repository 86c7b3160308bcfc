import { readFileSync } from "node:fs";
import { mkdtemp, rm } from "node:fs/promises";
import os from "node:os";
import path from "node:path";
import process from "node:process";
import { expect, it } from "vitest";
import { command } from "../tooling/command.ts";

/** The PATH of a user, whose Node may be older than the project's. */
const PATH = (process.env["PATH"] ?? "")
  .split(path.delimiter)
  .filter((folder) => !folder.includes("node_modules"))
  .join(path.delimiter);

it("npx starts the packed gateway in an empty folder on the user's Node, which sells a call", async ({
  skip,
}) => {
  skip(process.env["RELEASE"] !== "everything", "downloads its packages: set RELEASE=everything");
  const built = await command("npm", ["run", "-s", "build:gateway"]);
  expect(built.code, built.output).toBe(0);
  const tarball = built.output.trim().split("\n").at(-1) ?? "";
  const read = (file: string) => readFileSync(path.join("dist/gateway", file), "utf8");
  expect(JSON.parse(read("package.json"))).toMatchObject({
    repository: { type: "git" },
    homepage: expect.stringMatching(/^https:/),
    bugs: { url: expect.stringMatching(/issues$/) },
  });
  expect(read("deploy/prometheus/toolgate.rules.yml")).toMatch(
    / https:\/\/\S+\/v[\d.]+\/docs\/runbooks\/ToolgateNoLeader\.md$/m,
  );
  for (const file of ["NOTICE", "proto/LICENSE", "deploy/.env.example", "dist/console/index.html"])
    read(file);
  const empty = await mkdtemp(path.join(os.tmpdir(), "toolgate-gateway-"));
  try {
    const { code, output } = await command(
      "npx",
      ["--yes", `--package=${tarball}`, "toolgate", "dev", "--exit-after-demo"],
      { cwd: empty, env: { PATH, PORT: "0", GRPC_PORT: "0" } },
    );
    expect(code, output).toBe(0);
    expect(output).toMatch(/-> 200, receipt rcpt_/);
    expect(output).toContain("npx toolgate accounts operator");
  } finally {
    await rm(empty, { recursive: true, force: true });
  }
});
