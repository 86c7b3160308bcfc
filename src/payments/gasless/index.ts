export { readFeePayer } from "./fee-payer.ts";
export { GaslessSponsor, type SponsorOptions } from "./sponsor.ts";
