import { Keypair } from "@solana/web3.js";
import { afterAll, beforeAll, expect, it } from "vitest";
import { SessionService } from "#gen/toolgate/console/v1/session_service_pb.ts";
import { signIn } from "../support/console.ts";
import { startWorld, type World } from "../support/world.ts";

let world: World;
beforeAll(async () => {
  world = await startWorld();
});
afterAll(() => world.close());

it("signs a new wallet in", async () => {
  const wallet = Keypair.generate();
  const person = await signIn(world, wallet);
  expect(person.session).toMatchObject({ wallet: wallet.publicKey.toBase58(), operator: false, current: true });
  const { session, installation } = await person.client(SessionService).getSession({});
  expect(session?.sessionId).toBe(person.session.sessionId);
  expect(installation?.baseUrl).toBe(world.gateway.baseUrl);
});
