import process from "node:process";
import { experimental, ServerCredentials } from "@grpc/grpc-js";
import type { ServerTls, TlsFiles } from "../server-tls.ts";

type Provider = experimental.CertificateProvider;

/** Credentials of a gRPC server: cleartext without TLS. */
export function credentialsOf(tls: ServerTls | undefined): ServerCredentials {
  if (!tls) return ServerCredentials.createInsecure();
  const own = providerOf(tls);
  // The first argument is the server's certificate, although grpc-js names it otherwise.
  return tls.files.ca === undefined
    ? experimental.createCertificateProviderServerCredentials(own, null, false)
    : experimental.createCertificateProviderServerCredentials(own, own, true);
}

/** Gives grpc-js the files in force, and those that follow. */
function providerOf(tls: ServerTls): Provider {
  const none = () => undefined;
  const follow = (give: (files: TlsFiles) => void) => {
    // grpc-js listens to its credentials only after it has asked for the first.
    process.nextTick(() => give(tls.files));
    tls.onChange(give);
  };
  return {
    addIdentityCertificateListener: (listener) =>
      follow(({ cert, key }) => listener({ certificate: cert, privateKey: key })),
    addCaCertificateListener: (listener) =>
      follow(({ ca }) => listener(ca === undefined ? null : { caCertificate: ca })),
    removeIdentityCertificateListener: none,
    removeCaCertificateListener: none,
  };
}
