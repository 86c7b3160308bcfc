export { ExternalSigner } from "./external-signer.ts";
export { readFeePayer } from "./fee-payer.ts";
export { GaslessSponsor, type SponsorOptions } from "./sponsor.ts";
