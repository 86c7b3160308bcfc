import { expect, it } from "vitest";
import type {
  ConfigSource,
  ConfigVersion,
  ConfigVersions,
} from "../../src/app/operations/config-versions.ts";
import { readConfig, requireServeConfig } from "../../src/config/config.ts";
import { parseDocument } from "../../src/config/document.ts";
import { startVersion } from "../../src/gateway/start-version.ts";
import { createLogger } from "../../src/log.ts";
import { documentFolder } from "../tools/custom/http/third-party.ts";

const textOf = (price: number) => JSON.stringify({ prices: { vram_estimate: { flat_microusd: price } } });

/** Versions in memory; the first has this source and the price 1. */
function versionsOf(
  first: ConfigSource | undefined,
): Pick<ConfigVersions, "newest" | "apply" | "tiersMissed"> {
  const stored: ConfigVersion[] = [];
  const store = (document: string, source: ConfigSource) => {
    const { checksum } = parseDocument(document, "a test");
    const version = stored.length + 1;
    stored.push({ version, document, checksum, source, actor: "", note: undefined, appliedAt: new Date() });
    return { outcome: "applied", version } as const;
  };
  if (first) store(textOf(1), first);
  return {
    newest: async () => stored.at(-1),
    tiersMissed: async () => [],
    apply: async ({ document, source }) => store(document, source),
  };
}

async function started(setting: string, source: ConfigSource | undefined) {
  using folder = documentFolder();
  const environment = {
    DATABASE_URL: "postgresql://127.0.0.1/none",
    SOLANA_RPC_URLS: "http://127.0.0.1:1",
    TREASURY_OWNER: "11111111111111111111111111111111",
    TOOLGATE_CONFIG: folder.write("toolgate.json", textOf(2)),
    TOOLGATE_CONFIG_APPLY: setting,
  };
  const config = requireServeConfig(readConfig(environment));
  const log = createLogger("silent", { secrets: [] });
  const { version, resolved } = await startVersion(config, { versions: versionsOf(source), actor: "", log });
  return [version, resolved.prices["vram_estimate"]?.["flat_microusd"]];
}

it.each<[string, ConfigSource | undefined, number, bigint]>([
  ["auto", undefined, 1, 2n],
  ["auto", "start", 2, 2n],
  ["auto", "apply", 1, 1n],
  ["auto", "rollback", 1, 1n],
  ["always", "apply", 2, 2n],
  ["never", "start", 1, 1n],
  ["never", undefined, 0, 2n],
])("starts with TOOLGATE_CONFIG_APPLY=%s after a version by %s", async (setting, source, version, price) => {
  expect(await started(setting, source)).toEqual([version, price]);
});
