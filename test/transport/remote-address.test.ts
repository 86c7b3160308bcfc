import { describe, expect, it } from "vitest";
import { ClientAddresses } from "../../src/transport/remote-address.ts";

const PEER = "198.51.100.7";

describe("the client's address", () => {
  it.each([
    ["1.1.1.1", 0, PEER],
    ["1.1.1.1, 2.2.2.2", 1, "2.2.2.2"],
    ["1.1.1.1,2.2.2.2 ", 2, "1.1.1.1"],
    ["9.9.9.9, 1.1.1.1, 2.2.2.2", 2, "1.1.1.1"],
    ["1.1.1.1", 2, PEER],
    ["1.1.1.1, unknown", 1, PEER],
    ["1.1.1.1, _hidden", 1, PEER],
    ["1.1.1.1,", 1, PEER],
    ["", 1, PEER],
    [undefined, 1, PEER],
    ["192.0.2.1:4711", 1, "192.0.2.1"],
    ["[2001:db8::1]:4711", 1, "2001:db8::1"],
    ["[2001:db8::1]", 1, "2001:db8::1"],
    ["2001:db8::1", 1, "2001:db8::1"],
    ["::ffff:192.0.2.1", 1, "192.0.2.1"],
    ["192.0.2.1.evil.example", 1, PEER],
    ["0x7f.1", 1, PEER],
  ])("reads X-Forwarded-For %j behind %i proxies as %s", (forwardedFor, proxies, address) => {
    expect(new ClientAddresses(proxies).of({ peer: PEER, forwardedFor }).address).toBe(address);
  });

  it("normalises the peer address: no zone, no IPv4-mapped form", () => {
    const of = (peer: string | undefined) =>
      new ClientAddresses(0).of({ peer, forwardedFor: undefined }).address;
    expect([of("::ffff:192.0.2.1"), of("fe80::1%eth0"), of(undefined)]).toEqual([
      "192.0.2.1",
      "fe80::1",
      "unknown",
    ]);
  });
});

describe("X-Forwarded-For without a trusted proxy", () => {
  it("is warned of once", () => {
    const warned: unknown[] = [];
    const warn = (_: unknown, text: unknown) => void warned.push(text);
    for (const [proxies, forwardedFor] of [
      [0, undefined],
      [1, "1.1.1.1"],
    ] as const)
      new ClientAddresses(proxies, { warn }).of({ peer: PEER, forwardedFor });
    expect(warned).toEqual([]);
    const clients = new ClientAddresses(0, { warn });
    for (let count = 0; count < 2; count++) clients.of({ peer: PEER, forwardedFor: "1.1.1.1" });
    expect(warned).toEqual([expect.stringContaining("set TRUSTED_PROXY_HOPS")]);
  });
});

describe("a client's network", () => {
  it.each([
    ["192.0.2.1", "192.0.2.1"],
    ["2001:db8:1:2:3:4:5:6", "2001:db8:1:2::/64"],
    ["2001:db8:1:2::ffff", "2001:db8:1:2::/64"],
    ["2001:0DB8:1:0002::", "2001:db8:1:2::/64"],
    ["::1", "0:0:0:0::/64"],
    ["2001:db8::192.0.2.1", "2001:db8:0:0::/64"],
    ["unknown", "unknown"],
  ])("groups %s as %s", (address, network) => {
    expect(new ClientAddresses(0).of({ peer: address, forwardedFor: undefined }).network).toBe(network);
  });
});
