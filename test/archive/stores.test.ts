import { mkdtemp, readdir, rm } from "node:fs/promises";
import os from "node:os";
import path from "node:path";
import S3rver from "s3rver";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { z } from "zod";
import { FileStore, type ObjectStore } from "../../src/archive/object-store.ts";
import { S3Store } from "../../src/archive/s3-store.ts";

const ACCESS = { accessKeyId: "S3RVER", secretAccessKey: "S3RVER", region: "us-east-1" };

let folder: string;
let server: S3rver;
let endpoint: string;

beforeAll(async () => {
  folder = await mkdtemp(path.join(os.tmpdir(), "toolgate-stores-"));
  server = new S3rver({
    ...{ address: "127.0.0.1", port: 0, silent: true, directory: path.join(folder, "s3") },
    configureBuckets: [{ name: "months", configs: [] }],
  });
  const { port } = z.object({ port: z.number() }).parse(await server.run());
  endpoint = `http://127.0.0.1:${port}`;
});
afterAll(async () => {
  await server.close();
  await rm(folder, { recursive: true });
});

const stores: Record<string, () => ObjectStore> = {
  "a folder": () => new FileStore(path.join(folder, "files")),
  "a bucket": () => new S3Store({ bucket: "months", prefix: "toolgate/", endpoint, ...ACCESS }),
};

describe.each(Object.keys(stores))("files in %s", (name) => {
  it("are stored whole, read back, and never replaced", async () => {
    const store = stores[name]!();
    const content = Buffer.from([0, 1, 2, 255]);
    expect(await store.get("2026-05/one.parquet")).toBeUndefined();
    expect(await store.create("2026-05/one.parquet", content)).toBe(true);
    expect(await store.create("2026-05/one.parquet", Buffer.from("other"))).toBe(false);
    expect(Buffer.from((await store.get("2026-05/one.parquet"))!)).toEqual(content);
  });
});

describe("a folder", () => {
  it("holds no temporary file afterwards", async () => {
    expect(await readdir(path.join(folder, "files", "2026-05"))).toEqual(["one.parquet"]);
  });
});
