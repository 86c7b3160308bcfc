import { Catalogue } from "../../src/app/calls/catalogue.ts";
import { readConfig, requireServeConfig } from "../../src/config/config.ts";
import type { Tool } from "../../src/domain/tools/tool.ts";
import { startGateway, type Gateway } from "../../src/gateway.ts";
import { createLogger } from "../../src/log.ts";
import { startGround, type Ground } from "../support/world.ts";

/** A whole gateway with additional tools. */
export interface FixtureGateway extends Ground {
  readonly gateway: Gateway;
}

/** Starts it on its own database and chain, with these tools after the built-in ones. */
export async function startFixtureGateway(tools: readonly Tool[]): Promise<FixtureGateway> {
  const ground = await startGround();
  const config = requireServeConfig(readConfig(ground.settings));
  const gateway = await startGateway(config, createLogger("silent", { secrets: [] }), {
    wrapPorts: (deps) => ({ ...deps, catalogue: new Catalogue([...deps.catalogue.tools, ...tools]) }),
  });
  return {
    ...ground,
    gateway,
    async close() {
      await gateway.close();
      await ground.close();
    },
  };
}
