import { ConfigError, readConfig, readEnvironment } from "../config/config.ts";
import { collectSecrets } from "../config/secrets.ts";
import { createLogger } from "../log.ts";
import type { OpenCell } from "../postgres/cells/open-cells.ts";
import { systemClock, systemRandom } from "../system.ts";
import { explainDatabaseError } from "./database-error.ts";

/** Opens all cells for one command. @throws ConfigError without CELL_DATABASE_URLS */
export async function onCells<Result>(run: (cells: readonly OpenCell[]) => Promise<Result>): Promise<Result> {
  const config = readConfig(readEnvironment());
  const { CELL_DATABASE_URLS: urls } = config;
  if (urls === undefined || urls.size < 2)
    throw new ConfigError([
      "CELL_DATABASE_URLS: must name at least two cells, 1=postgresql://… 2=postgresql://…",
    ]);
  const { withCells } = await import("../postgres/cells/open-cells.ts");
  const log = createLogger("warn", { secrets: collectSecrets(config) });
  try {
    return await withCells({ urls, clock: systemClock, random: systemRandom, log }, run);
  } catch (error) {
    throw explainDatabaseError(error, [...urls.values()].join(","));
  }
}
