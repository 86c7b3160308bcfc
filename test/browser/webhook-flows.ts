import { expect, test } from "vitest";
import { verified, WebhookReceiver } from "../support/webhook-receiver.ts";
import type { ConsoleWorld } from "./console-world.ts";

export function webhookFlows(world: ConsoleWorld): void {
  test("adds an endpoint, whose receiver verifies a test event, sends it again and deletes it", async () => {
    const receiver = await WebhookReceiver.open();
    const { page } = await world.signedInBrowser((await world.agent()).wallet);
    const button = (name: string | RegExp) => page.getByRole("button", { name });
    await page.goto("webhooks");
    await button("Add endpoint").click();
    await page.getByLabel("URL").fill("hooks.example");
    await button("Add endpoint").click();
    await page.getByText("Enter a URL that begins with https://.").waitFor();
    await page.getByLabel("URL").fill(receiver.url);
    await button("Add endpoint").click();
    const secret = await page.getByText(/^whsec_/).textContent();
    await button("I have saved it").click();
    await receiver.atLeast(1);
    await page.getByText("Enabled", { exact: true }).waitFor();
    await button("Send test event").click();
    await page.getByText("The receiver answered the test event with 204.").waitFor();
    await receiver.atLeast(2);
    expect(verified(secret ?? "", receiver.received[0]!)).toMatchObject({ type: "webhook.test" });
    await page.getByText("204", { exact: true }).first().waitFor();
    await button(/^Send again: webhook\.test /)
      .first()
      .click();
    await receiver.atLeast(3);
    receiver.answer = (response) => void response.writeHead(500).end();
    await button("Send test event").click();
    await page.getByText(/^The test event failed: .*500/).waitFor();
    // It is not sent before the next attempt.
    await button("Send test event").click();
    await page.getByText("The test event is not sent yet").waitFor();
    receiver.answer = (response) => void response.writeHead(410).end();
    await button("Disable").click();
    await button("Enable").click();
    await page.getByText("Disabled by the gateway: the receiver answered 410 Gone").waitFor();
    await button("Delete").click();
    await button("Delete endpoint").click();
    await page.getByText("No endpoints yet").waitFor();
    receiver.close();
  });
}
