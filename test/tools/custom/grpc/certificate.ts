import { createSign, generateKeyPairSync } from "node:crypto";

/** PEM. */
export interface Certificate {
  certificate: Buffer;
  key: Buffer;
}

const ECDSA_SHA256 = sequence(oid("2a8648ce3d040302"));

/** Creates a self-signed certificate for one name (RFC 5280). */
export function selfSigned(name: string): Certificate {
  const { publicKey, privateKey } = generateKeyPairSync("ec", { namedCurve: "P-256" });
  const subject = sequence(tlv(0x31, sequence(oid("550403"), tlv(0x0c, Buffer.from(name)))));
  const alternative = sequence(oid("551d11"), tlv(0x04, sequence(tlv(0x82, Buffer.from(name)))));
  const body = sequence(
    tlv(0xa0, tlv(0x02, Buffer.from([2]))),
    tlv(0x02, Buffer.from([1])),
    ECDSA_SHA256,
    subject,
    sequence(tlv(0x17, Buffer.from("200101000000Z")), tlv(0x17, Buffer.from("491231235959Z"))),
    subject,
    publicKey.export({ type: "spki", format: "der" }),
    tlv(0xa3, sequence(alternative)),
  );
  const signature = createSign("sha256").update(body).sign(privateKey);
  const der = sequence(body, ECDSA_SHA256, tlv(0x03, Buffer.concat([Buffer.from([0]), signature])));
  const lines = der.toString("base64").replaceAll(/.{64}/g, "$&\n");
  return {
    certificate: Buffer.from(`-----BEGIN CERTIFICATE-----\n${lines}\n-----END CERTIFICATE-----\n`),
    key: Buffer.from(privateKey.export({ type: "pkcs8", format: "pem" })),
  };
}

function sequence(...parts: readonly Buffer[]): Buffer {
  return tlv(0x30, Buffer.concat(parts));
}

function oid(hex: string): Buffer {
  return tlv(0x06, Buffer.from(hex, "hex"));
}

/** A DER element (X.690). */
function tlv(tag: number, value: Buffer): Buffer {
  const { length } = value;
  if (length < 0x80) return Buffer.concat([Buffer.from([tag, length]), value]);
  const size = length < 0x100 ? Buffer.from([0x81, length]) : Buffer.from([0x82, length >> 8, length & 0xff]);
  return Buffer.concat([Buffer.from([tag]), size, value]);
}
