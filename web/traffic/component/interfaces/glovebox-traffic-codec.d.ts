/** @module Interface glovebox:traffic/codec@0.1.0 **/
export function urlEncode(text: string): string;
export function urlDecode(text: string): string;
export function base64Encode(bytes: Uint8Array): string;
export function base64Decode(text: string): Uint8Array;
export function hash(bytes: Uint8Array, algorithm: string): string;
export function decodeAs(text: string, encoding: string): Uint8Array;
export function randomString(length: number, alphabet: string, random: Uint8Array): string;
