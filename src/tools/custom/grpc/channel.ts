import { Client, credentials, type ChannelCredentials } from "@grpc/grpc-js";
import type { Guard } from "../../../outbound/address-guard.ts";
import { readSettingFile, type SettingFiles } from "../setting-file.ts";
import { guardedTarget } from "./guarded-resolver.ts";
import type { GrpcSection } from "./section.ts";

/** Opens a channel, connected on first use. @param maxBytes of a message. @throws Error for the operator */
export async function openChannel(
  section: GrpcSection,
  guard: Guard,
  maxBytes: number,
  files?: SettingFiles,
): Promise<Client> {
  const { target, options } = guardedTarget(section.address, guard);
  return new Client(target, await credentialsOf(section.tls, files), {
    ...options,
    "grpc.max_receive_message_length": maxBytes,
    // Only transparent retries of calls that never reached the server remain.
    "grpc.enable_retries": 0,
    // A service config from DNS could enable retries again.
    "grpc.service_config_disable_resolution": 1,
    "grpc.keepalive_time_ms": 60_000,
    "grpc.keepalive_timeout_ms": 20_000,
    "grpc.initial_reconnect_backoff_ms": 250,
    "grpc.max_reconnect_backoff_ms": 5_000,
    "grpc.enable_channelz": 0,
  });
}

async function credentialsOf(tls: GrpcSection["tls"], files?: SettingFiles): Promise<ChannelCredentials> {
  if (tls === false) return credentials.createInsecure();
  if (tls === true) return credentials.createSsl();
  try {
    return credentials.createSsl(await readSettingFile(tls.ca_file, files));
  } catch (cause) {
    throw new Error(`tls.ca_file: ${tls.ca_file} cannot be read as certificates (PEM)`, { cause });
  }
}
