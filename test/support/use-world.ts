import { afterAll, afterEach, beforeAll, expect } from "vitest";
import { startModelServer, type ModelServer } from "./model-server.ts";
import { startWorld, type World } from "./world.ts";

type Settings = Record<string, string>;

/**
 * The world of a file or a `describe`: started before its tests, audited and closed after them.
 * @param settings of the gateway; a function is called right before the start
 */
export function useWorld(
  settings: Settings | (() => Settings | Promise<Settings>) = {},
  slotMs?: number,
): World {
  const world = {} as World;
  beforeAll(async () => {
    Object.assign(
      world,
      await startWorld(typeof settings === "function" ? await settings() : settings, slotMs),
    );
  });
  afterAll(async () => {
    // Its start failed, which is reported.
    if (world.gateway === undefined) return;
    const violations = await world.violations();
    await world.close();
    expect(violations).toEqual([]);
  });
  return world;
}

/** A model server of a file, which behaves well again after each test. */
export function useModelServer(): ModelServer {
  const model = {} as ModelServer;
  beforeAll(async () => void (await startModelServer(model)));
  afterEach(() => void Object.assign(model, { status: 200, waits: undefined }));
  afterAll(() => model.close());
  return model;
}
