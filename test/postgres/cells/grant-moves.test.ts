import { randomUUID } from "node:crypto";
import { afterAll, expect, it } from "vitest";
import { newApiKey, TOKEN_PREFIX } from "../../../src/domain/accounts/api-key.ts";
import { DEFAULT_SCOPES } from "../../../src/domain/accounts/scope.ts";
import { systemRandom } from "../../../src/system.ts";
import { balanceOf, customer, expectClean, move, openCell, type TestCell } from "./cell-fixture.ts";

const [two, three] = await Promise.all([openCell(2), openCell(3)]);
afterAll(() => expectClean(two, three));

const CLIENT = { clientId: "oac_1", name: "Host", host: "127.0.0.1", verified: false };

/** A host that the account's holder has consented to, with its tokens. */
async function connectHost({ number, postgres }: TestCell, accountId: string) {
  const { oauthRecords, apiKeys, keySecrets } = postgres;
  const expiresAt = new Date("2100-01-01");
  const interactionId = randomUUID();
  await oauthRecords.save("Interaction", interactionId, { payload: {}, expiresAt, keyId: undefined });
  const wanted = { accountId, name: "Host", scopes: DEFAULT_SCOPES };
  const consent = { interactionId, client: CLIENT, resource: "https://tools.example/mcp" };
  const { keyId } = await apiKeys.connect(wanted, consent);
  const accessToken = newApiKey(keySecrets.current(), systemRandom, number, TOKEN_PREFIX);
  const refreshToken = randomUUID();
  const payload = { scope: DEFAULT_SCOPES.join(" ") };
  await oauthRecords.save("AccessToken", accessToken, { payload, expiresAt, keyId });
  await oauthRecords.save("RefreshToken", refreshToken, { payload, expiresAt, keyId });
  return { keyId, accessToken, refreshToken };
}

const accountOf = async ({ postgres }: TestCell, token: string) =>
  (await postgres.authenticator.authenticate(token))?.accountId;

it("a host of an account that moves signs in again, and its old grant stays listed", async () => {
  const { accountId } = await customer(two, 7n);
  const host = await connectHost(two, accountId);
  expect(await accountOf(two, host.accessToken)).toBe(accountId);
  await move(two, three, accountId);

  await expect.poll(() => accountOf(two, host.accessToken).catch(({ code }) => code)).toBe("UNAVAILABLE");
  expect(await accountOf(three, host.accessToken)).toBeUndefined();
  const { oauthRecords, apiKeys } = three.postgres;
  expect(await oauthRecords.find("RefreshToken", host.refreshToken)).toBeUndefined();
  const listed = await apiKeys.list(accountId);
  expect(listed.find(({ keyId }) => keyId === host.keyId)).toMatchObject({ client: CLIENT });

  const again = await connectHost(three, accountId);
  expect(await accountOf(three, again.accessToken)).toBe(accountId);
  expect(await balanceOf(three, accountId)).toBe(7n);
  await apiKeys.revoke(host.keyId);
  expect(await oauthRecords.connectedKey(host.keyId)).toBeUndefined();
});
