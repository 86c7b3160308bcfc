import { createServer } from "node:net";
import type { AddressInfo, LookupFunction } from "node:net";
import { afterEach, expect, it } from "vitest";
import { GuardedWebhookSender } from "../../src/outbound/webhook-sender.ts";

let connections = 0;
const server = createServer((socket) => {
  connections++;
  socket.destroy();
});

afterEach(() => void server.close());

const FORBIDDEN = "the host is not a public address, so nothing was sent";

/** Resolves every name to one of these addresses in turn. */
function resolvingTo(...addresses: string[]): LookupFunction {
  let asked = 0;
  return (_name, options, callback) => {
    const address = addresses[asked++ % addresses.length] ?? "";
    const family = address.includes(":") ? 6 : 4;
    if (options.all) callback(null, [{ address, family }]);
    else callback(null, address, family);
  };
}

async function problem(url: string, lookup?: LookupFunction): Promise<string> {
  const sender = new GuardedWebhookSender({ network: "public", ...(lookup && { lookup }) });
  const sent = sender.send({ url, headers: {}, body: "{}" }, AbortSignal.timeout(300_000));
  const message = await sent.then(
    ({ status }) => String(status),
    (error: unknown) => String(error instanceof Error && error.message),
  );
  await sender.close();
  return message;
}

it("sends nothing to private, link-local and metadata addresses, however they are written", async () => {
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const { port } = server.address() as AddressInfo;
  const hosts = [
    "127.0.0.1",
    "127.1",
    "2130706433",
    "0x7f000001",
    "0177.0.0.1",
    "[::1]",
    "[::ffff:127.0.0.1]",
    "[::ffff:7f00:1]",
    "[64:ff9b::7f00:1]",
    "[2002:7f00:1::]",
    "0.0.0.0",
    "[::]",
    "10.0.0.1",
    "172.16.0.1",
    "192.168.0.1",
    "100.64.0.1",
    "169.254.169.254",
    "[fe80::1]",
    "[fd00:ec2::254]",
    "localhost",
  ];
  for (const host of hosts) expect(await problem(`http://${host}:${port}/`), host).toBe(FORBIDDEN);
  for (const address of ["127.0.0.1", "10.0.0.1", "169.254.169.254", "::1", "::ffff:127.0.0.1"])
    expect(await problem(`http://hooks.example:${port}/`, resolvingTo(address)), address).toBe(FORBIDDEN);
  expect(connections).toBe(0);
});

it("sends nothing to a name that resolves to another address at the second query", async () => {
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const { port } = server.address() as AddressInfo;
  const rebinding = resolvingTo("127.0.0.1", "203.0.113.1");
  for (let n = 0; n < 3; n++)
    expect(await problem(`http://hooks.example:${port}/`, rebinding)).toBe(FORBIDDEN);
  expect(connections).toBe(0);
});
