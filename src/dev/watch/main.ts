// The gateway of `dev --watch`: the supervisor starts this program again after each change.
import process from "node:process";
import { readConfig, requireServeConfig, collectSecrets } from "../../config/config.ts";
import { startGateway } from "../../gateway.ts";
import { createLogger } from "../../log.ts";
import { migrate } from "../../postgres/database/migrate.ts";
import { loadState } from "../dev-state.ts";
import { ConsoleProxy } from "./console-proxy.ts";
import { endpoints, gatewayJob } from "./messages.ts";

const { dataDir, viteUrl, movable } = gatewayJob.parse(JSON.parse(process.argv[2] ?? ""));
const config = requireServeConfig(readConfig(process.env));
const log = createLogger(config.LOG_LEVEL, { secrets: collectSecrets(config), besideText: true });
await migrate(config.DATABASE_URL);
const gateway = await startGateway(config, log, {
  movable,
  devConsole: { wallet: loadState(dataDir).wallet.secretKey, files: new ConsoleProxy(viteUrl) },
});
const stop = () => void gateway.close().finally(() => process.exit());
process.once("SIGTERM", stop);
// The supervisor has ended, however.
process.once("disconnect", stop);
process.send?.(endpoints.parse(gateway));
