"""Foreign OpenID libraries: their tokens are accepted by a published API, and they ask for ours and verify them."""

import http.server
import json
import os
import subprocess
import sys
import threading
import time
import urllib.error
import urllib.parse
import urllib.request

import jwt
from authlib.integrations.requests_client import OAuth2Session
from authlib.oauth2.rfc8414 import AuthorizationServerMetadata
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import ec, ed25519, rsa
from jwt.algorithms import ECAlgorithm, OKPAlgorithm, RSAAlgorithm

from checks import Checks, equal
from server import demo, free_port

ISSUER = "https://login.example.org"
KEYS = {
    "RS256": (rsa.generate_private_key(public_exponent=65537, key_size=2048), RSAAlgorithm),
    "ES256": (ec.generate_private_key(ec.SECP256R1()), ECAlgorithm),
    "EdDSA": (ed25519.Ed25519PrivateKey.generate(), OKPAlgorithm),
}


def serve(answer):
    """Serves what a function of the path returns; gives the URL."""

    class Handler(http.server.BaseHTTPRequestHandler):
        def do_GET(self):
            body = json.dumps(answer(self.path)).encode()
            self.send_response(200)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_):
            pass

    server = http.server.ThreadingHTTPServer(("127.0.0.1", free_port()), Handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    return f"http://127.0.0.1:{server.server_port}"


def public_keys(_path):
    keys = []
    for name, (private, algorithm) in KEYS.items():
        stated = json.loads(algorithm.to_jwk(private.public_key()))
        keys.append(stated | {"kid": name, "alg": name, "use": "sig"})
    return {"keys": keys}


def token(algorithm, key=None, header=None, **claims):
    now = int(time.time())
    usual = {"iss": ISSUER, "aud": ["x", "items"], "sub": "s", "iat": now, "exp": now + 60}
    usual["scope"] = "items.read items.write"
    private = key or KEYS[algorithm][0]
    return jwt.encode(usual | claims, private, algorithm, headers=header or {"kid": algorithm})


def status(url, bearer):
    request = urllib.request.Request(url, headers={"Authorization": f"Bearer {bearer}"})
    try:
        with urllib.request.urlopen(request, timeout=10) as answer:
            return answer.status
    except urllib.error.HTTPError as refused:
        return refused.code


def main():
    check = Checks()
    with demo(sys.argv[1]) as place:
        keys, upstream = serve(public_keys), serve(lambda path: {"path": path})
        file = f"{place['folder']}/apis.toml"
        with open(file, "w") as out:
            out.write(
                "[[apis]]\nname = 'items'\ncontext = 'items'\nversion = 'v1'\n"
                f"upstream = ['{upstream}']\nscopes = ['items.read']\n"
                f"[[apis.issuers]]\nissuer = '{ISSUER}'\njwks = '{keys}/keys'\n"
                "audience = 'items'\n"
            )
        apply = [sys.argv[1], "gateway", "apply", file, "--data-dir", place["data"]]
        subprocess.run(apply, check=True, capture_output=True)
        items, data = f"{place['url']}/apis/items/v1/a", f"{place['url']}/data/v3/ed-fi/schools"

        for algorithm in KEYS:

            @check(f"PyJWT: a token with {algorithm} is accepted by the API and not by /data")
            def _(algorithm=algorithm):
                equal(status(items, token(algorithm)), 200)
                equal(status(items, token(algorithm)), 200)
                equal(status(items, token(algorithm, header={"typ": "at+jwt"})), 200)
                equal(status(data, token(algorithm)), 401)

            @check(f"PyJWT: a token with {algorithm} that does not fit is refused")
            def _(algorithm=algorithm):
                now = int(time.time())
                for claims, wanted in [
                    ({"aud": "others"}, 401),
                    ({"iss": "https://other.example.org"}, 401),
                    ({"exp": now - 120}, 401),
                    ({"nbf": now + 120}, 401),
                    ({"scope": "items.write"}, 403),
                ]:
                    equal(status(items, token(algorithm, **claims)), wanted)
                for wrong in KEYS:
                    if wrong != algorithm:
                        mixed = token(wrong, header={"kid": algorithm})
                        equal(status(items, mixed), 401)

        @check("PyJWT: a secret made of the public key signs nothing")
        def _():
            public = KEYS["RS256"][0].public_key()
            pem = public.public_bytes(
                serialization.Encoding.PEM, serialization.PublicFormat.SubjectPublicKeyInfo
            )
            # The library itself refuses such a secret, so its text is disguised.
            secret = pem.replace(b"-----", b"")
            equal(status(items, token("HS256", key=secret, header={"kid": "RS256"})), 401)
            equal(status(items, jwt.encode({"iss": ISSUER, "aud": "items"}, None, "none")), 401)

        @check("PyJWT: a token of this server is verified by its published keys")
        def _():
            form = urllib.parse.urlencode({
                "grant_type": "client_credentials",
                "client_id": place["key"],
                "client_secret": place["secret"],
            }).encode()
            asked = urllib.request.urlopen(f"{place['url']}/oauth/token", form, timeout=10)
            own = json.load(asked)["access_token"]
            issuer = place["url"].rstrip("/")
            found = jwt.PyJWKClient(f"{issuer}/.well-known/jwks.json")
            key = found.get_signing_key_from_jwt(own).key
            needed = {"require": ["iss", "aud", "sub", "exp", "iat", "jti"]}
            claims = jwt.decode(
                own, key, algorithms=["EdDSA"], issuer=issuer, audience=issuer, options=needed
            )
            equal(claims["sub"], place["key"])
            assert claims["exp"] > time.time()
            for wrong in [{"issuer": ISSUER, "audience": issuer}, {"issuer": issuer, "audience": "x"}]:
                try:
                    jwt.decode(own, key, algorithms=["EdDSA"], **wrong)
                except jwt.InvalidTokenError:
                    continue
                raise AssertionError(f"verified with {wrong}")

        @check("Authlib: a client finds the server, asks for a scope, and the token is held to it")
        def _():
            # The library asks for https, which the sample server does not speak.
            os.environ["AUTHLIB_INSECURE_TRANSPORT"] = "1"
            issuer = place["url"].rstrip("/")
            where = f"{issuer}/.well-known/oauth-authorization-server"
            found = AuthorizationServerMetadata(json.load(urllib.request.urlopen(where, timeout=10)))
            found.validate()
            equal(found["issuer"], issuer)
            create = [sys.argv[1], "keys", "create", "--json", "--data-dir", place["data"]]
            create += ["--apis", "items", "--api-scopes", "items.read,items.write"]
            made = json.loads(subprocess.run(create, check=True, capture_output=True).stdout)
            for method in found["token_endpoint_auth_methods_supported"]:
                for scope, wanted in [("items.read", 200), ("items.write", 403)]:
                    session = OAuth2Session(
                        made["key"], made["secret"], scope=scope, token_endpoint_auth_method=method
                    )
                    session.fetch_token(found["token_endpoint"], grant_type="client_credentials")
                    equal(session.get(items).status_code, wanted)
                    own = session.token["access_token"]
                    told = session.introspect_token(found["introspection_endpoint"], token=own).json()
                    equal(told["scope"], f"apis {scope}")
                    equal((told["iss"], told["aud"]), (issuer, [issuer, "items"]))
                    key = jwt.PyJWKClient(found["jwks_uri"]).get_signing_key_from_jwt(own).key
                    claims = jwt.decode(
                        own, key, algorithms=["EdDSA"], issuer=issuer, audience="items"
                    )
                    equal(claims["scope"], scope)
                    session.revoke_token(found["revocation_endpoint"], token=own)
                    equal(status(items, own), 401)

    check.end()


main()
