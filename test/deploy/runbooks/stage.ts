import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { z } from "zod";
import { setScene, type Scene, type Watching } from "../../crediting/fixture.ts";
import { startPrometheus } from "../../metrics/prometheus.ts";
import { restartPort } from "../../support/ports.ts";
import { openDatabaseLink, type DatabaseLink } from "../../support/database-link.ts";
import type { Agent } from "../../support/world.ts";
import type { Machine } from "./page.ts";
import { shortenedRules } from "./rules.ts";

const alerts = z.object({
  alerts: z.array(z.object({ labels: z.object({ alertname: z.string() }), state: z.string() })),
});

/** A gateway whose surroundings can break, with Prometheus beside it. */
export interface Stage extends AsyncDisposable {
  readonly scene: Scene;
  /** Its line to the database. */
  readonly link: DatabaseLink;
  readonly agent: Agent;
  readonly gateway: Watching;
  readonly machine: Machine;
  stop(): Promise<void>;
  /** Starts it again at the same address. */
  restart(settings?: Readonly<Record<string, string>>): Promise<void>;
  fires(alert: string): Promise<boolean>;
}

export interface Walk {
  readonly title: string;
  /** The alerts that it raises, and what the commands of their pages then show. */
  readonly alerts: Readonly<Record<string, RegExp>>;
  cause(stage: Stage): Promise<unknown> | void;
  remedy(stage: Stage): Promise<unknown> | void;
  /** Takes down what it needed. */
  after?(stage: Stage): Promise<unknown> | void;
}

/** Opens it: slots are made every 50 ms, callers buy a call every 100 ms. */
export async function openStage(): Promise<Stage> {
  const scene = await setScene(50);
  const link = await openDatabaseLink(scene.database.servingUrl);
  const target = `127.0.0.1:${await restartPort()}`;
  const folder = mkdtempSync(path.join(tmpdir(), "runbooks-"));
  const rules = path.join(folder, "rules.yml");
  writeFileSync(rules, shortenedRules());
  const prometheus = await startPrometheus(target, { RULES: rules, INTERVAL: "500ms" });
  const agent = await scene.agent({ balance: 100_000_000n });
  let settings: Record<string, string> = {};
  let gateway: Watching | undefined;
  // As in a journal, the lines of an instance that has ended stay.
  const logs: Watching["log"][] = [];
  const current = () => {
    if (!gateway) throw new Error("the gateway is stopped");
    return gateway;
  };
  const stop = async () => {
    const running = gateway;
    gateway = undefined;
    await running?.close();
  };
  const restart = async (more: Readonly<Record<string, string>> = {}) => {
    await stop();
    settings = {
      DATABASE_URL: link.url,
      METRICS_PORT: new URL(`http://${target}`).port,
      PORT: new URL(settings["PUBLIC_URL"] ?? "http://127.0.0.1:0").port || "0",
      AUDIT_INTERVAL_SECONDS: "1",
      ...more,
    };
    gateway = await scene.start(settings);
    logs.push(gateway.log);
  };
  await restart();
  const callers = setInterval(() => void gateway?.buy(agent).catch(() => {}), 100);
  return {
    scene,
    link,
    agent,
    stop,
    restart,
    get gateway() {
      return current();
    },
    get machine() {
      const address = gateway === undefined ? "127.0.0.1:1" : new URL(gateway.baseUrl).host;
      return {
        settings: {
          ...scene.settings,
          SOLANA_RPC_URLS: `${scene.settings["SOLANA_RPC_URLS"]},${scene.secondUrl}`,
          ...settings,
          OWNER_URL: scene.database.url,
        },
        addresses: { "HOST:PORT": address, "METRICS_HOST:METRICS_PORT": target },
        log: logs
          .flat()
          .map((line) => JSON.stringify(line))
          .join("\n"),
      };
    },
    async fires(alert) {
      const answer = await prometheus.ask("alerts", alerts);
      if (typeof answer === "string") throw new Error(answer);
      return answer.alerts.some(({ labels, state }) => labels.alertname === alert && state === "firing");
    },
    async [Symbol.asyncDispose]() {
      clearInterval(callers);
      link.mend();
      await stop();
      await prometheus[Symbol.asyncDispose]();
      await link.close();
      await scene.close();
      rmSync(folder, { recursive: true });
    },
  };
}
