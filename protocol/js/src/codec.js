/*
 * codec.js - frames to bytes and back. The only file that knows the MessagePack library.
 *
 * Numbers of the contract are at most 2^53-1, so they are plain numbers here. A field
 * that is undefined is left out, which means absent; null is sent as nil, absent too.
 */
import { decode, encode } from '@msgpack/msgpack';

/**
 * @param {Record<string, unknown>} frame
 * @returns {Uint8Array}
 */
export function encodeFrame(frame) {
  return encode(frame, { ignoreUndefined: true });
}

/**
 * Throws if the bytes are not one MessagePack map.
 * @param {ArrayBuffer | Uint8Array} bytes
 * @returns {Record<string, unknown>}
 */
export function decodeFrame(bytes) {
  const value = decode(bytes);
  if (typeof value !== 'object' || value === null || Array.isArray(value)
      || value instanceof Uint8Array) {
    throw new TypeError('a frame is one map');
  }
  return /** @type {Record<string, unknown>} */ (value);
}
