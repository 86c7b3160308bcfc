import { describe, expect, it } from "vitest";
import { mayConnect } from "../../src/outbound/address-guard.ts";

const NEVER = [
  "169.254.169.254",
  "169.254.0.1",
  "::ffff:169.254.169.254",
  "::ffff:a9fe:a9fe",
  "64:ff9b::169.254.169.254",
  "2002:a9fe:a9fe::1",
  "::169.254.169.254",
  "fe80::1",
  "fe80::1%eth0",
  "febf::1",
  "0.0.0.0",
  "0.1.2.3",
  "::",
  "::ffff:0.0.0.0",
  "224.0.0.1",
  "239.255.255.250",
  "255.255.255.255",
  "ff02::1",
  "100.100.100.200",
  "168.63.129.16",
  "192.0.0.192",
  "fd00:ec2::254",
  "fd20:ce::254",
  "fd00:c1::a9fe:a9fe",
  "fd00:42::42",
  "::ffff:0:169.254.169.254",
  "not an address",
  "localhost",
  "",
  "0x7f.1",
  "2130706433",
];
const OWN = [
  "127.0.0.1",
  "127.255.0.1",
  "::1",
  "::ffff:127.0.0.1",
  "10.1.2.3",
  "172.31.255.255",
  "192.168.0.10",
  "::ffff:192.168.0.10",
  "64:ff9b::10.0.0.1",
  "2002:0a00:0001::",
  "100.64.0.1",
  "198.18.0.1",
  "fd12:3456::1",
  "64:ff9b:1::10.0.0.1",
  "64:ff9b:1:ffff::1",
  "2001:0:a00:1::1",
  "3fff::1",
  "::8.8.8.8",
  "::ffff:0:8.8.8.8",
  "1fff::1",
  "4000::1",
  "9000::1",
  "5f00::1",
  "192.88.99.1",
];
const PUBLIC = [
  "8.8.8.8",
  "172.32.0.1",
  "169.253.255.255",
  "1.1.1.1",
  "2606:4700::1111",
  "64:ff9b::8.8.8.8",
  "::ffff:8.8.8.8",
  "3ffe::1",
  "2001:200::1",
];

describe("the address guard", () => {
  it.each(NEVER)("forbids %j on every network", (address) => {
    expect([mayConnect(address, "any"), mayConnect(address, "public")]).toEqual([false, false]);
  });

  it.each(OWN)("allows %s on any network but not on public", (address) => {
    expect([mayConnect(address, "any"), mayConnect(address, "public")]).toEqual([true, false]);
  });

  it.each(PUBLIC)("allows an upstream at %s", (address) => {
    expect([mayConnect(address, "any"), mayConnect(address, "public")]).toEqual([true, true]);
  });
});
