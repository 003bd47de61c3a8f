/* SPDX-License-Identifier: Apache-2.0 */
#include "common/base.h"

#include "common/backup_seal.h"

#include <ctype.h>
#include <openssl/core_names.h>
#include <openssl/crypto.h>
#include <openssl/evp.h>
#include <openssl/hmac.h>
#include <openssl/kdf.h>
#include <openssl/params.h>

#include "common/alloc.h"
#include "common/hex.h"
#include "common/tls.h"

#define STREAM_INFO "kube-mysql backup 1"
#define KEY_ID_TEXT "kube-mysql key id"
#define HEAD_BYTES 4
#define TAG_BYTES 16
#define NONCE_BYTES 12

/* ---- keys ---- */

void backup_key_derive(const unsigned char user_key[static BACKUP_KEY_BYTES],
    const unsigned char salt[static BACKUP_SALT_BYTES], const char *info, unsigned char ret[static BACKUP_KEY_BYTES])
{
    EVP_KDF *kdf = EVP_KDF_fetch(NULL, "HKDF", NULL);
    EVP_KDF_CTX *context = kdf ? EVP_KDF_CTX_new(kdf) : NULL;
    OSSL_PARAM params[] = {
        OSSL_PARAM_construct_utf8_string(OSSL_KDF_PARAM_DIGEST, (char[]){"SHA256"}, 0),
        OSSL_PARAM_construct_octet_string(OSSL_KDF_PARAM_KEY, (void *)(uintptr_t)user_key, BACKUP_KEY_BYTES),
        OSSL_PARAM_construct_octet_string(OSSL_KDF_PARAM_SALT, (void *)(uintptr_t)salt, BACKUP_SALT_BYTES),
        OSSL_PARAM_construct_octet_string(OSSL_KDF_PARAM_INFO, (void *)(uintptr_t)info, strlen(info)),
        OSSL_PARAM_construct_end(),
    };

    if (!context || EVP_KDF_derive(context, ret, BACKUP_KEY_BYTES, params) != 1)
        abort();
    EVP_KDF_CTX_free(context);
    EVP_KDF_free(kdf);
}

void backup_key_id(const unsigned char key[static BACKUP_KEY_BYTES], char out[static 17])
{
    unsigned char mac[EVP_MAX_MD_SIZE];
    unsigned len = 0;

    if (!HMAC(EVP_sha256(), key, BACKUP_KEY_BYTES, (const unsigned char *)KEY_ID_TEXT, sizeof(KEY_ID_TEXT) - 1, mac,
            &len))
        abort();
    hex_print(mac, 8, out);
}

static bool parse_hex(const char *text, unsigned char *ret)
{
    for (size_t i = 0; i < BACKUP_KEY_BYTES; i++) {
        char pair[3] = {text[2 * i], text[2 * i + 1], '\0'};
        if (!isxdigit((unsigned char)pair[0]) || !isxdigit((unsigned char)pair[1]))
            return false;
        ret[i] = (unsigned char)strtoul(pair, NULL, 16);
        OPENSSL_cleanse(pair, sizeof(pair));
    }
    return true;
}

static bool parse_base64(const char *text, size_t len, unsigned char *ret)
{
    size_t bytes = 0;
    char *data = tls_base64_decode(text, len, &bytes, NULL);
    bool fits = data && bytes == BACKUP_KEY_BYTES;

    if (fits)
        memcpy(ret, data, BACKUP_KEY_BYTES);
    if (data)
        OPENSSL_cleanse(data, bytes);
    free(data);
    return fits;
}

int backup_key_parse(const char *text, size_t len, unsigned char ret[static BACKUP_KEY_BYTES], struct error *err)
{
    if (len == BACKUP_KEY_BYTES) { /* any 32 bytes, white space at their ends too */
        memcpy(ret, text, len);
        return 0;
    }
    while (len > 0 && isspace((unsigned char)text[len - 1]))
        len--;
    for (; len > 0 && isspace((unsigned char)*text); len--)
        text++;
    if (len == BACKUP_KEY_BYTES) {
        memcpy(ret, text, len);
        return 0;
    }
    if ((len == (size_t)2 * BACKUP_KEY_BYTES && parse_hex(text, ret)) || parse_base64(text, len, ret))
        return 0;
    return error_set(err, ERROR_INVALID,
        "a key has %d bytes, as they are, in hex or in base64; the one given has %zu characters and is none of these",
        BACKUP_KEY_BYTES, len);
}

/* ---- frames ---- */

struct frame_cipher {
    EVP_CIPHER_CTX *context;
    uint64_t counter;
    unsigned char nonce[NONCE_BYTES];
};

static void cipher_init(
    struct frame_cipher *cipher, const unsigned char *user_key, const unsigned char *salt, int encrypt)
{
    unsigned char key[BACKUP_KEY_BYTES];

    backup_key_derive(user_key, salt, STREAM_INFO, key);
    cipher->context = EVP_CIPHER_CTX_new();
    if (!cipher->context || EVP_CipherInit_ex(cipher->context, EVP_aes_256_gcm(), NULL, key, NULL, encrypt) != 1)
        abort();
    OPENSSL_cleanse(key, sizeof(key));
}

static void cipher_begin(struct frame_cipher *cipher, bool last)
{
    for (int i = 0; i < 8; i++)
        cipher->nonce[i] = (unsigned char)(cipher->counter >> (56 - 8 * i));
    cipher->nonce[NONCE_BYTES - 1] = last;
    cipher->counter++;
    if (EVP_CipherInit_ex(cipher->context, NULL, NULL, NULL, cipher->nonce, -1) != 1)
        abort();
}

/* ---- the giving side ---- */

struct seal_writer {
    struct frame_cipher cipher;
    size_t len; /* waits in plain */
    unsigned char plain[SEAL_FRAME_MAX];
    unsigned char frame[SEAL_FRAME_MAX + SEAL_OVERHEAD];
};

struct seal_writer *seal_writer_new(
    const unsigned char key[static BACKUP_KEY_BYTES], const unsigned char salt[static BACKUP_SALT_BYTES])
{
    struct seal_writer *writer = xnew(struct seal_writer);

    cipher_init(&writer->cipher, key, salt, 1);
    return writer;
}

void seal_writer_free(struct seal_writer *writer)
{
    if (!writer)
        return;
    EVP_CIPHER_CTX_free(writer->cipher.context); /* wipes the key schedule */
    OPENSSL_cleanse(writer->plain, sizeof(writer->plain));
    free(writer);
}

static void put_frame(struct seal_writer *writer, bool last, struct strbuf *out)
{
    EVP_CIPHER_CTX *context = writer->cipher.context;
    unsigned char *frame = writer->frame;
    size_t len = writer->len;
    int n = 0;

    for (int i = 0; i < HEAD_BYTES; i++)
        frame[i] = (unsigned char)(len >> (24 - 8 * i));
    cipher_begin(&writer->cipher, last);
    if (EVP_EncryptUpdate(context, frame + HEAD_BYTES, &n, writer->plain, (int)len) != 1 || (size_t)n != len ||
        EVP_EncryptFinal_ex(context, frame + HEAD_BYTES + len, &n) != 1 ||
        EVP_CIPHER_CTX_ctrl(context, EVP_CTRL_GCM_GET_TAG, TAG_BYTES, frame + HEAD_BYTES + len) != 1)
        abort();
    strbuf_add(out, frame, HEAD_BYTES + len + TAG_BYTES);
    writer->len = 0;
}

void seal_writer_add(struct seal_writer *writer, const void *data, size_t len, struct strbuf *out)
{
    const char *bytes = data;

    while (len > 0) {
        size_t piece = MIN_OF(len, SEAL_FRAME_MAX - writer->len);
        memcpy(writer->plain + writer->len, bytes, piece);
        writer->len += piece;
        bytes += piece;
        len -= piece;
        if (writer->len == SEAL_FRAME_MAX)
            put_frame(writer, false, out);
    }
}

void seal_writer_end(struct seal_writer *writer, struct strbuf *out)
{
    put_frame(writer, true, out);
}

/* ---- the taking side ---- */

struct seal_reader {
    struct frame_cipher cipher;
    bool ended;
    size_t have; /* of the frame */
    unsigned char frame[SEAL_FRAME_MAX + SEAL_OVERHEAD];
    unsigned char plain[SEAL_FRAME_MAX];
};

struct seal_reader *seal_reader_new(
    const unsigned char key[static BACKUP_KEY_BYTES], const unsigned char salt[static BACKUP_SALT_BYTES])
{
    struct seal_reader *reader = xnew(struct seal_reader);

    cipher_init(&reader->cipher, key, salt, 0);
    return reader;
}

void seal_reader_free(struct seal_reader *reader)
{
    if (!reader)
        return;
    EVP_CIPHER_CTX_free(reader->cipher.context);
    OPENSSL_cleanse(reader->plain, sizeof(reader->plain));
    free(reader);
}

static size_t text_bytes(const struct seal_reader *reader)
{
    const unsigned char *head = reader->frame;

    return (size_t)head[0] << 24 | (size_t)head[1] << 16 | (size_t)head[2] << 8 | head[3];
}

static int damaged(const struct seal_reader *reader, uint64_t frame, struct error *err)
{
    UNUSED(reader);
    return error_set(err, ERROR_PROTOCOL, "frame %llu is damaged", (unsigned long long)frame);
}

/* A writer fills every frame but the last one, so its length tells which one this must be; a lie about it is another
 * nonce. */
static int open_frame(struct seal_reader *reader, size_t len, struct error *err)
{
    EVP_CIPHER_CTX *context = reader->cipher.context;
    bool last = len < SEAL_FRAME_MAX;
    uint64_t number = reader->cipher.counter + 1;
    int n = 0;

    cipher_begin(&reader->cipher, last);
    if (EVP_DecryptUpdate(context, reader->plain, &n, reader->frame + HEAD_BYTES, (int)len) != 1 ||
        EVP_CIPHER_CTX_ctrl(context, EVP_CTRL_GCM_SET_TAG, TAG_BYTES, reader->frame + HEAD_BYTES + len) != 1 ||
        EVP_DecryptFinal_ex(context, reader->plain + len, &n) != 1)
        return damaged(reader, number, err);
    reader->ended = last;
    reader->have = 0;
    return 0;
}

/* How many bytes the frame still lacks, as far as is known; 0: it is whole. -1: it cannot be one. */
static ssize_t lacking(const struct seal_reader *reader)
{
    if (reader->have < HEAD_BYTES)
        return (ssize_t)(HEAD_BYTES - reader->have);
    size_t len = text_bytes(reader);
    return len > SEAL_FRAME_MAX ? -1 : (ssize_t)(len + SEAL_OVERHEAD - reader->have);
}

int seal_reader_feed(struct seal_reader *reader, const char *data, size_t len,
    int (*fn)(void *arg, const char *data, size_t len, struct error *err), void *arg, struct error *err)
{
    while (len > 0) {
        if (reader->ended)
            return error_set(err, ERROR_PROTOCOL, "the stream goes on behind its last frame");
        size_t piece = MIN_OF(len, (size_t)lacking(reader));
        memcpy(reader->frame + reader->have, data, piece);
        reader->have += piece;
        data += piece;
        len -= piece;
        ssize_t more = lacking(reader);
        if (more < 0)
            return damaged(reader, reader->cipher.counter + 1, err);
        if (more > 0)
            continue;
        size_t text = text_bytes(reader);
        if (open_frame(reader, text, err) < 0)
            return -1;
        if (text > 0 && fn(arg, (const char *)reader->plain, text, err) < 0)
            return -1;
    }
    return 0;
}

int seal_reader_end(struct seal_reader *reader, struct error *err)
{
    if (reader->ended)
        return 0;
    return error_set(err, ERROR_PROTOCOL, "the stream ends after %llu frames, without its last one",
        (unsigned long long)reader->cipher.counter);
}
