import { query } from "../../../support/database-server.ts";
import { WebhookReceiver } from "../../../support/webhook-receiver.ts";
import { request } from "../../../support/world.ts";
import { remedyOf, runCommand } from "../page.ts";
import type { Stage, Walk } from "../stage.ts";

const ALERT = "ToolgateWebhooksLate";

let receiver: WebhookReceiver;

/** An endpoint with an event that waits. */
async function notify({ scene, gateway }: Stage): Promise<void> {
  const agent = await scene.agent({ scopes: ["billing:write"] });
  const send = (path: string, body: object) =>
    request(gateway, agent, path, { method: "POST", body: JSON.stringify(body) });
  const { status, body } = await send("/v1/webhooks", { url: receiver.url, types: ["balance.low"] });
  if (status !== 200) throw new Error(JSON.stringify(body));
  await send(`/v1/webhooks/${body.endpoint.endpoint_id}/test`, {});
}

const servingRole = ({ scene }: Stage) => new URL(scene.database.servingUrl).username;

export const WEBHOOK_WALKS: readonly Walk[] = [
  {
    title: "the serving role loses a right",
    alerts: { [ALERT]: /permission denied for table webhook_endpoint/ },
    async cause(stage) {
      receiver = await WebhookReceiver.open();
      await stage.restart({ WEBHOOK_NETWORK: "any" });
      const { url } = stage.scene.database;
      await query(url, `revoke update on webhook_endpoint from ${servingRole(stage)}`);
      const { rows } = await query(
        url,
        `select column_name as name from information_schema.column_privileges
         where grantee = '${servingRole(stage)}' and table_name = 'webhook_endpoint'
           and privilege_type = 'UPDATE'`,
      );
      for (const { name } of rows)
        await query(url, `revoke update (${name}) on webhook_endpoint from ${servingRole(stage)}`);
      await notify(stage);
    },
    async remedy(stage) {
      const { machine } = stage;
      const settings = { ...machine.settings, DATABASE_URL: machine.settings["OWNER_URL"] ?? "" };
      const grant = remedyOf(ALERT, "node src/main.ts migrate", { ROLE: servingRole(stage) });
      await runCommand(grant, { ...machine, settings });
      await receiver.atLeast(1);
    },
    async after(stage) {
      await stage.restart();
      receiver.close();
    },
  },
];
